/** Keeps a collection to its size: forgets the entry that was put in first, where there are more than `most`. */
export function forgetOldest(entries: Set<unknown> | Map<unknown, unknown>, most: number): void {
  if (entries.size <= most) return;
  const oldest = entries.keys().next();
  if (!oldest.done) entries.delete(oldest.value);
}
