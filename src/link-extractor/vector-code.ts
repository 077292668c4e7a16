import { endianness } from 'node:os';
import { SKIP_BYTES } from './skip-bytes.ts';

/** Bytes of the table of names, from address 0 on. */
const NAMES_BYTES = 4096;
/** Bytes of the links that were passed, behind it: their number, and six addresses each. */
const LINKS_BYTES = 12_352;
/** Where in {@link VectorCode.links} the first one stands, and how far apart they are. */
export const FIRST_LINK = 4;
export const LINK_FIELDS = 6;
/** Characters of the window, behind which that of a document begins that is kept there as a whole. */
export const WINDOW = 32_768;
/** Characters of the longest document that is. */
export const LONGEST_KEPT = 2_200_000;
/** Characters behind the end of both that may be looked at. */
export const PADDING = 64;
const WINDOW_AT = NAMES_BYTES + LINKS_BYTES;
const DOCUMENT_AT = WINDOW_AT + (WINDOW + PADDING) * 2;
const PAGE_BYTES = 65_536;

type Skip = (at: number, last: number, flags: number) => number;

/** An instance of the code with vector instructions, and the memory that it looks at. */
export interface VectorCode {
  /** Takes addresses, and gives one; `skip.wat` has the rest. */
  readonly skip: Skip;
  /** What names are of interest. */
  readonly names: Int32Array;
  /** How many links were passed, and from {@link FIRST_LINK} on where they stand. */
  readonly links: Int32Array;
  readonly window: Uint16Array;
  readonly document: Uint16Array;
}

/** As much of the interface as is needed here, which is not among the types of Node.js. */
interface WebAssembly {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly skip: Skip } };
}

let instance: VectorCode | undefined;
let isMade = false;

/** The one instance of this thread; `undefined` where WebAssembly is switched off, the processor too old, or memory short. */
export function vectorCode(): VectorCode | undefined {
  if (!isMade) {
    isMade = true;
    instance = made();
  }
  return instance;
}

function made(): VectorCode | undefined {
  // The code reads numbers with the lowest byte first, wherever it runs.
  if (endianness() !== 'LE') return undefined;
  try {
    const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssembly }).WebAssembly;
    // Memory that was never written to takes none.
    const pages = Math.ceil((DOCUMENT_AT + (LONGEST_KEPT + PADDING) * 2) / PAGE_BYTES);
    const memory = new Memory({ initial: pages, maximum: pages });
    const { skip } = new Instance(new Module(Buffer.from(SKIP_BYTES, 'base64')), { own: { memory } }).exports;
    return {
      skip,
      names: new Int32Array(memory.buffer, 0, NAMES_BYTES / 4),
      links: new Int32Array(memory.buffer, NAMES_BYTES, LINKS_BYTES / 4),
      window: new Uint16Array(memory.buffer, WINDOW_AT, WINDOW + PADDING),
      document: new Uint16Array(memory.buffer, DOCUMENT_AT, LONGEST_KEPT + PADDING),
    };
  } catch {
    return undefined;
  }
}
