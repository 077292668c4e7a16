// Scans the documents of a JSON file as the build does where there is no WebAssembly, and writes what it finds:
//   node scan-file.mjs EXTRACTOR IN OUT
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

// As with Node's flags that switch it off, which differ from version to version.
Reflect.deleteProperty(globalThis, 'WebAssembly');
const [, , extractor, from, to] = process.argv;
const { LinkExtractor } = await import(extractor);
const { vectorCode } = await import(new URL('vector-code.js', pathToFileURL(extractor)).href);
const { url, profile, documents } = JSON.parse(readFileSync(from, 'utf8'));
const scanner = new LinkExtractor({ profile });
const results = documents.map((html) => scanner.scan({ url, html }));
writeFileSync(to, JSON.stringify({ hasVectors: vectorCode() !== undefined, results }));
