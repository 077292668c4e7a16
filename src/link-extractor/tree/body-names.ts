const words = (list: string): readonly string[] => list.split(' ');

export const HEADINGS: readonly string[] = words('h1 h2 h3 h4 h5 h6');
/** Close an open paragraph when they begin. */
export const BLOCKS: readonly string[] = words(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup ' +
    'main menu nav ol p search section summary ul',
);
export const FORMATTING: readonly string[] = words('b big code em font i s small strike strong tt u');
/** Keep formatting elements within them from going on behind them, and the other way round. */
export const MARKED: readonly string[] = words('applet marquee object');

/** Kinds of elements by name: each list with its kind, later ones first. */
export function kindsByName(
  lists: readonly (readonly [kind: number, names: readonly string[]])[],
): ReadonlyMap<string, number> {
  return new Map(lists.flatMap(([kind, names]) => names.map((name) => [name, kind] as const)));
}
