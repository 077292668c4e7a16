// Makes of skip.wat the module that runs: npm run wasm
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import makeWabt from 'wabt';

const source = new URL('../../src/link-extractor/skip.wat', import.meta.url);
const target = new URL('../../src/link-extractor/skip-bytes.ts', import.meta.url);

/** @returns what `skip-bytes.ts` has to hold. */
export async function assemble() {
  const wabt = await makeWabt();
  const module = wabt.parseWat('skip.wat', readFileSync(source, 'utf8'), { simd: true });
  module.validate();
  const code = Buffer.from(module.toBinary({}).buffer).toString('base64');
  return `/** \`skip.wat\` in the form that runs, in Base64. Made by \`npm run wasm\`. */\nexport const SKIP_BYTES: string =\n  '${code}';\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, await assemble());
