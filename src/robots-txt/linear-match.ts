/** A pattern made ready: what stands between its wildcards. */
export interface CompiledPattern {
  readonly pieces: readonly string[];
  /** Whether the pattern ends in `$`. */
  readonly anchored: boolean;
  /** Failure tables of the long pieces, made when first needed. */
  readonly tables: (Uint16Array | undefined)[];
}

/** Pieces up to this length are looked for by `indexOf`, which costs at most this many comparisons a character. */
const SHORT_PIECE = 16;

export function compilePattern(pattern: string): CompiledPattern {
  const anchored = pattern.endsWith('$');
  return { pieces: (anchored ? pattern.slice(0, -1) : pattern).split('*'), anchored, tables: [] };
}

/**
 * Whether the pattern matches from the start of `path`. Time is linear in the length of both: each piece is taken where
 * it first fits, which is always right, because a later place leaves less for the pieces behind it.
 */
export function matchPattern(path: string, pattern: CompiledPattern): boolean {
  const { pieces, anchored } = pattern;
  const first = pieces[0] as string;
  if (!path.startsWith(first)) return false;
  let position = first.length;
  const last = pieces.length - 1;
  for (let i = 1; i <= last; i++) {
    const piece = pieces[i] as string;
    if (i === last && anchored) return path.length - piece.length >= position && path.endsWith(piece);
    const found = find(path, position, i, pattern);
    if (found < 0) return false;
    position = found + piece.length;
  }
  return !anchored || position === path.length;
}

/** `indexOf` takes quadratic time on long pieces such as `aaa…baaa…`; for those, Knuth, Morris and Pratt. */
function find(path: string, from: number, index: number, { pieces, tables }: CompiledPattern): number {
  const piece = pieces[index] as string;
  if (piece.length <= SHORT_PIECE) return path.indexOf(piece, from);
  if (piece.length > path.length - from) return -1;
  tables[index] ??= failureTable(piece);
  const table = tables[index];
  let matched = 0;
  for (let i = from; i < path.length; i++) {
    while (matched > 0 && path[i] !== piece[matched]) matched = table[matched - 1] as number;
    if (path[i] === piece[matched]) matched++;
    if (matched === piece.length) return i - matched + 1;
  }
  return -1;
}

/** For each beginning of `piece`, the length of its longest proper beginning that is also its end. */
function failureTable(piece: string): Uint16Array {
  const table = new Uint16Array(piece.length);
  let matched = 0;
  for (let i = 1; i < piece.length; i++) {
    while (matched > 0 && piece[i] !== piece[matched]) matched = table[matched - 1] as number;
    if (piece[i] === piece[matched]) matched++;
    table[i] = matched;
  }
  return table;
}
