/** Namespaces. */
export const HTML = 0;
export const SVG = 1;
export const MATHML = 2;

/** What the algorithms of the tree builder ask of an element, as bits. */
export const IS = {
  special: 1,
  /** Ends the search for an element "in scope". */
  scope: 2,
  listScope: 4,
  buttonScope: 8,
  tableScope: 16,
  /** Closed by "generate implied end tags". */
  implied: 32,
  /** Closed by "generate all implied end tags thoroughly". */
  impliedAll: 64,
  formatting: 128,
  /** Ends the search for a list item to close. */
  itemBoundary: 256,
  /** HTML within foreign content. */
  htmlPoint: 512,
  /** HTML within foreign content, but for `mglyph` and `malignmark`. */
  textPoint: 1024,
  table: 2048,
  tableBody: 4096,
  row: 8192,
  cell: 16_384,
  /** Parts of tables, which a cell or a caption ends at. */
  tablePart: 32_768,
  heading: 65_536,
  template: 131_072,
  paragraph: 262_144,
} as const;

/** An open element: all that is known of one, since no tree is kept. */
export interface OpenElement {
  readonly name: string;
  readonly namespace: number;
  readonly bits: number;
  /** Of formatting elements: where the attributes begin in the text, or 0. */
  readonly attributes: number;
  /** These attributes in a form that can be compared, once they have been. */
  signature: string | undefined;
  /** Whether it is on the stack of open elements; means nothing where one object stands for several elements. */
  open: boolean;
}

const words = (list: string): string[] => list.split(' ');

const HTML_BITS = new Map<string, number>();
const SVG_BITS = new Map<string, number>();
const MATHML_BITS = new Map<string, number>();

function mark(bits: Map<string, number>, bit: number, names: string): void {
  for (const name of words(names)) bits.set(name, (bits.get(name) ?? 0) | bit);
}

const SPECIAL =
  'address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd ' +
  'details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header ' +
  'hgroup hr html iframe img input li link listing main marquee menu meta nav noembed noframes noscript object ol p ' +
  'param plaintext pre script section select source style summary table tbody td template textarea tfoot th thead ' +
  'title tr track ul wbr xmp';
mark(HTML_BITS, IS.special, SPECIAL);
for (const name of words(SPECIAL)) {
  if (name !== 'address' && name !== 'div' && name !== 'p') mark(HTML_BITS, IS.itemBoundary, name);
}
mark(HTML_BITS, IS.scope, 'applet caption html marquee object table td template th');
mark(HTML_BITS, IS.listScope, 'ol ul');
mark(HTML_BITS, IS.buttonScope, 'button');
mark(HTML_BITS, IS.tableScope, 'html table');
mark(HTML_BITS, IS.implied, 'dd dt li optgroup option p rb rp rt rtc');
mark(HTML_BITS, IS.impliedAll, 'dd dt li optgroup option p rb rp rt rtc caption colgroup tbody td tfoot th thead tr');
mark(HTML_BITS, IS.table, 'table');
mark(HTML_BITS, IS.tableBody, 'tbody tfoot thead');
mark(HTML_BITS, IS.row, 'tr');
mark(HTML_BITS, IS.cell, 'td th');
mark(HTML_BITS, IS.tablePart, 'caption col colgroup tbody td tfoot th thead tr');
mark(HTML_BITS, IS.heading, 'h1 h2 h3 h4 h5 h6');
mark(HTML_BITS, IS.template, 'template');
mark(HTML_BITS, IS.paragraph, 'p');
mark(HTML_BITS, IS.formatting, 'a b big code em font i nobr s small strike strong tt u');
const OTHER_NAMES =
  'abbr audio bdi bdo canvas cite data datalist del dfn dialog g ins image keygen label legend map mark math menu meter ' +
  'noscript output path picture progress q ruby samp search slot span sub sup svg time use var video wbr';
const POINTS = IS.special | IS.itemBoundary | IS.scope;
mark(SVG_BITS, POINTS | IS.htmlPoint, 'desc foreignobject title');
mark(MATHML_BITS, POINTS | IS.textPoint, 'mi mn mo ms mtext');
mark(MATHML_BITS, POINTS, 'annotation-xml');

/** What is known of all elements of one name. */
export function bitsOf(name: string, namespace: number): number {
  const bits = namespace === HTML ? HTML_BITS : namespace === SVG ? SVG_BITS : MATHML_BITS;
  return bits.get(name) ?? 0;
}

/** Names that the rules know, so that they can be told without cutting them out of a text. */
export const KNOWN_NAMES: readonly string[] = [
  ...new Set([...HTML_BITS.keys(), ...SVG_BITS.keys(), ...MATHML_BITS.keys(), ...words(OTHER_NAMES)]),
];

const IDS: ReadonlyMap<string, number> = new Map(KNOWN_NAMES.map((name, index) => [name, index + 1]));

/** By namespace and number of a known name, the element that stands for all of them. */
const shared: readonly (readonly OpenElement[])[] = [HTML, SVG, MATHML].map((namespace) =>
  ['', ...KNOWN_NAMES].map((name) => plainElement(name, namespace)),
);

function plainElement(name: string, namespace: number): OpenElement {
  return { name, namespace, bits: bitsOf(name, namespace), attributes: 0, signature: '', open: true };
}

/**
 * An element like all others of its name: of most nothing else is ever asked, so that one object stands for them all.
 * Formatting elements and forms are asked for one by one.
 * @param id - The number of its name among {@link KNOWN_NAMES}, from 1; 0 for a name that is not there.
 */
export function likeOthers(name: string, namespace: number, id: number = IDS.get(name) ?? 0): OpenElement {
  return id === 0 ? plainElement(name, namespace) : ((shared[namespace] as readonly OpenElement[])[id] as OpenElement);
}

/** {@link bitsOf} an HTML element by the number of its name. */
export const BITS_OF_KNOWN: Int32Array = Int32Array.from(['', ...KNOWN_NAMES], (name) => bitsOf(name, HTML));
