#!/usr/bin/env node
import { runCli } from './run.ts';

// `npm start` with nothing to crawl shows what the crawler does, on a web of its own.
const args = process.argv.slice(2);
const named = args.some((arg) => !arg.startsWith('-')) || args.includes('--help') || args.includes('--version');
process.exitCode = await runCli(named ? args : ['--demo', ...args]);
