import { removeAt } from './array.ts';
import { HTML, IS, type OpenElement } from './elements.ts';

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
      if (at >= upper || (element.bits & IS.template) !== 0) items[kept++] = element;
      else {
        element.open = false;
        this.#count(element, -1);
      }
    }
    items.length = kept;
    // Templates are kept, however many: the next time must not come at once.
    this.#deepest = Math.max(DEEPEST, kept + DEEPEST / 2 + this.templates);
  }

  pop(): void {
    const element = this.items.pop() as OpenElement;
    element.open = false;
    this.#count(element, -1);
  }

  #count(element: OpenElement, change: 1 | -1): void {
    if ((element.bits & (IS.paragraph | IS.template)) === 0) return;
    if ((element.bits & IS.paragraph) !== 0) this.#paragraphs += change;
    else this.templates += change;
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

  /** Pops up to an HTML element of this name, and that too. */
  popThrough(name: string): void {
    while (this.items.length > 1) {
      const done = this.isCurrent(name);
      this.pop();
      if (done) return;
    }
  }

  /** The same up to an element with one of these bits. */
  popThroughKind(bits: number): void {
    while (this.items.length > 1) {
      const done = (this.current.bits & bits) !== 0;
      this.pop();
      if (done) return;
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
    const element = this.items[at] as OpenElement;
    removeAt(this.items, at);
    element.open = false;
    this.#count(element, -1);
  }

  /** Where an element of which there is only one is, or -1. */
  indexOf(element: OpenElement): number {
    if (!element.open) return -1;
    const lowest = this.lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      if (this.items[at] === element) return this.#spend(at);
    }
    return this.#spend(-1, lowest);
  }

  /** The topmost HTML element with this name or the other, or -1. */
  topmost(name: string, other: string = name): number {
    const lowest = this.lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element.namespace === HTML && (element.name === name || element.name === other)) return this.#spend(at);
    }
    return this.#spend(-1, lowest);
  }

  /** Whether an HTML element of this name is open, with nothing that ends the search above it. */
  inScope(name: string, ends: number = IS.scope): boolean {
    const lowest = this.lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element.name === name && element.namespace === HTML) return this.#spend(at) >= 0;
      if ((element.bits & ends) !== 0) return this.#spend(-1, at) >= 0;
    }
    return this.#spend(-1, lowest) >= 0;
  }

  /** Where an element of which there is only one is, if nothing that ends the search is above it; or -1. */
  indexInScope(wanted: OpenElement): number {
    const lowest = this.lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if (element === wanted) return this.#spend(at);
      if ((element.bits & IS.scope) !== 0) return this.#spend(-1, at);
    }
    return this.#spend(-1, lowest);
  }

  hasParagraphInButtonScope(): boolean {
    return this.#paragraphs > 0 && this.inScope('p', IS.scope | IS.buttonScope);
  }

  /** Whether an element with one of these bits is open, with nothing that ends the search above it. */
  kindInScope(bits: number, ends: number = IS.scope): boolean {
    const lowest = this.lowest();
    for (let at = this.items.length - 1; at >= lowest; at--) {
      const element = this.items[at] as OpenElement;
      if ((element.bits & bits) !== 0) return this.#spend(at) >= 0;
      if ((element.bits & ends) !== 0) return this.#spend(-1, at) >= 0;
    }
    return this.#spend(-1, lowest) >= 0;
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

  /** Pops until an element with one of these bits, or a template or the root, is current. */
  clearTo(bits: number): void {
    while (this.items.length > 1 && (this.current.bits & (bits | IS.template)) === 0) this.pop();
  }

  /** How far down a search may look. */
  lowest(): number {
    return this.budget > 0 ? 0 : Math.max(0, this.items.length - NEAR);
  }

  #spend(answer: number, reached: number = answer): number {
    this.budget -= this.items.length - Math.max(0, reached);
    return answer;
  }
}

const NEAR = 16;
/** So many elements may be open; then half of them are forgotten, but neither templates nor the outermost. */
const DEEPEST = 8192;
const OUTERMOST = 1024;
