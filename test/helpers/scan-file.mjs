// Scans the documents of a JSON file as the build does, and writes what it finds: node scan-file.mjs EXTRACTOR IN OUT
import { readFileSync, writeFileSync } from 'node:fs';

const [, , extractor, from, to] = process.argv;
const { LinkExtractor } = await import(extractor);
const { url, profile, documents } = JSON.parse(readFileSync(from, 'utf8'));
const scanner = new LinkExtractor({ profile });
const results = documents.map((html) => scanner.scan({ url, html }));
writeFileSync(to, JSON.stringify({ hasVectors: typeof WebAssembly !== 'undefined', results }));
