export function canonicalizeUrl(
  _input: string,
  _base?: string | URL,
  _options?: { stripTracking?: boolean; sortQuery?: boolean },
): string | null {
  return null;
}
