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

const shared: readonly Map<string, OpenElement>[] = [new Map(), new Map(), new Map()];

/**
 * An element like all others of its name: of most nothing else is ever asked, so that one object stands for them all.
 * Formatting elements and forms are asked for one by one.
 */
export function likeOthers(name: string, namespace: number): OpenElement {
  const known = (shared[namespace] as Map<string, OpenElement>).get(name);
  if (known !== undefined) return known;
  const element = { name, namespace, bits: bitsOf(name, namespace), attributes: 0, signature: '', open: true };
  if (KNOWN.has(name)) (shared[namespace] as Map<string, OpenElement>).set(name, element);
  return element;
}

/** Names that the rules know, so that they can be told without cutting them out of a text. */
export const KNOWN_NAMES: readonly string[] = [
  ...new Set([...HTML_BITS.keys(), ...SVG_BITS.keys(), ...MATHML_BITS.keys(), ...words(OTHER_NAMES)]),
];

const KNOWN: ReadonlySet<string> = new Set(KNOWN_NAMES);

/** The stack of open elements (HTML Standard, 13.2.4.2). */
export class OpenElements {
  readonly items: OpenElement[] = [];
  /** How many templates are open. */
  templates = 0;
  /** How many paragraphs are: nearly every block asks for one. */
  #paragraphs = 0;
  #deepest = DEEPEST;
  /**
   * Steps that searches may still take. Right markup needs few; where hostile markup has used them up, searches look no
   * further than {@link NEAR} elements, which keeps the time in proportion to the text.
   */
  budget: number;

  constructor(budget: number) {
    this.budget = budget;
  }

  get current(): OpenElement {
    return this.items[this.items.length - 1] as OpenElement;
  }

  push(element: OpenElement): void {
    if (this.items.length >= this.#deepest) this.#forgetSome();
    element.open = true;
    this.items.push(element);
    this.#count(element, 1);
  }

  /** No page that means well comes here: a million open elements would only fill the memory. */
  #forgetSome(): void {
    const { items } = this;
    const upper = items.length >> 1;
    let kept = OUTERMOST;
    for (let at = OUTERMOST; at < items.length; at++) {
      const element = items[at] as OpenElement;
      if (at >= upper || (element.namespace === HTML && element.name === 'template')) items[kept++] = element;
      else {
        element.open = false;
        this.#count(element, -1);
      }
    }
    items.length = kept;
    this.#deepest = Math.max(DEEPEST, kept * 2);
  }

  pop(): void {
    const element = this.items.pop() as OpenElement;
    element.open = false;
    this.#count(element, -1);
  }

  #count(element: OpenElement, change: 1 | -1): void {
    if (element.namespace !== HTML) return;
    if (element.name === 'p') this.#paragraphs += change;
    else if (element.name === 'template') this.templates += change;
  }

  /** Whether the current element is an HTML element of this name. */
  isCurrent(name: string): boolean {
    const { current } = this;
    return current.namespace === HTML && current.name === name;
  }

  /** The same by name alone, in any namespace. */
  isCurrentNamed(name: string): boolean {
    return this.current.name === name;
  }

  shorten(length: number): void {
    while (this.items.length > length) this.pop();
  }

  popThrough(...names: readonly string[]): void {
    let done = false;
    while (!done && this.items.length > 1) {
      const { current } = this;
      done = current.namespace === HTML && names.includes(current.name);
      this.pop();
    }
  }

  /** Takes an element out, wherever it is. */
  remove(element: OpenElement): void {
    const at = this.indexOf(element);
    if (at >= 0) this.removeAt(at);
  }

  removeAt(at: number): void {
    if (at === this.items.length - 1) {
      this.pop();
      return;
    }
    this.budget -= this.items.length - at;
    const [element] = this.items.splice(at, 1);
    if (element === undefined) return;
    element.open = false;
    this.#count(element, -1);
  }

  /** Where an element of which there is only one is, or -1. */
  indexOf(element: OpenElement): number {
    if (!element.open) return -1;
    const lowest = this.#lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      if (this.items[at] === element) return this.#spend(at);
    }
    return this.#spend(-1, lowest);
  }

  /** The topmost HTML element with this name or the other, or -1. */
  topmost(name: string, other: string = name): number {
    const lowest = this.#lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element.namespace === HTML && (element.name === name || element.name === other)) return this.#spend(at);
    }
    return this.#spend(-1, lowest);
  }

  /** Whether an HTML element of this name is open, with nothing that ends the search above it. */
  inScope(name: string, ends: number = IS.scope): boolean {
    const lowest = this.#lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element.name === name && element.namespace === HTML) return this.#spend(at) >= 0;
      if ((element.bits & ends) !== 0) return this.#spend(-1, at) >= 0;
    }
    return this.#spend(-1, lowest) >= 0;
  }

  findInScope(wanted: (element: OpenElement) => boolean, ends: number = IS.scope): boolean {
    const lowest = this.#lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element.namespace === HTML && wanted(element)) return this.#spend(at) >= 0;
      if ((element.bits & ends) !== 0) return this.#spend(-1, at) >= 0;
    }
    return this.#spend(-1, lowest) >= 0;
  }

  hasParagraphInButtonScope(): boolean {
    return this.#paragraphs > 0 && this.inScope('p', IS.scope | IS.buttonScope);
  }

  inTableScope(...names: readonly string[]): boolean {
    return this.findInScope((element) => names.includes(element.name), IS.tableScope);
  }

  /** Whether an element with one of these bits is open above a place. */
  hasAbove(at: number, bits: number): boolean {
    for (let above = this.items.length - 1; above > at; above--) {
      if (((this.items[above] as OpenElement).bits & bits) !== 0) return this.#spend(0, above) >= 0;
    }
    return this.#spend(-1, at) >= 0;
  }

  /** "Generate implied end tags", but for elements of one name. */
  closeImplied(bit: number, except?: string): void {
    while (this.items.length > 0) {
      const { current } = this;
      if (current.namespace !== HTML || (current.bits & bit) === 0 || current.name === except) return;
      this.pop();
    }
  }

  /** Pops until an HTML element with one of these names, or a template or the root, is current. */
  clearTo(...names: readonly string[]): void {
    while (this.items.length > 1) {
      const { current } = this;
      if (current.namespace === HTML && (names.includes(current.name) || current.name === 'template')) return;
      this.pop();
    }
  }

  #lowest(): number {
    return this.budget > 0 ? 0 : Math.max(0, this.items.length - NEAR);
  }

  #spend(answer: number, reached: number = answer): number {
    this.budget -= this.items.length - Math.max(0, reached);
    return answer;
  }
}

const NEAR = 16;
/** So many elements may be open; then half of them are forgotten, but neither templates nor the outermost. */
const DEEPEST = 65_536;
const OUTERMOST = 1024;
