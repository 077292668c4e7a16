#!/usr/bin/env node
import { saysWhat } from './arguments.ts';
import { runCli } from './run.ts';

// `npm start` with nothing to crawl, and no crawl to go on with, shows what the crawler does, on a web of its own.
const args = process.argv.slice(2);
process.exitCode = await runCli(saysWhat(args) ? args : ['--demo', ...args]);
