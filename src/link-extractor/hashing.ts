/** Not known beforehand, so that nobody can choose texts whose hashes are equal. */
const MULTIPLIER = (Math.floor(Math.random() * 0x3fffffff) * 2 + 0x20000001) | 0;

/** Takes one character code more into a hash, which is 0 for the empty text. */
export function hashCode(hash: number, code: number): number {
  return Math.imul(hash ^ code, MULTIPLIER) ^ (hash >>> 17);
}

/** The hash of a text. */
export function hashText(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = hashCode(hash, text.charCodeAt(at));
  return hash;
}

/** Spreads a hash over its low bits. */
export function spread(hash: number): number {
  return hash ^ (hash >>> 15);
}
