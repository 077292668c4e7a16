import { insertAt, removeAt } from './array.ts';
import { HTML, IS, type OpenElement } from './elements.ts';
import type { OpenElements } from './open-elements.ts';
import type { SignatureAt } from './state.ts';

const MOST_OUTER_LOOPS = 8;
const MOST_INNER_LOOPS = 3;
/** Noah's Ark: of equal elements behind the last marker only so many are kept. */
const MOST_EQUAL = 3;
/** Past it the older half is forgotten, as of the stack. */
const MOST_ENTRIES = 8192;

/** The list of active formatting elements (HTML Standard, 13.2.4.3), and what is done with it to the stack. */
export class FormattingElements {
  /** `undefined` is a marker. */
  #entries: (OpenElement | undefined)[] = [];
  readonly #stack: OpenElements;
  readonly #signatureAt: SignatureAt;

  constructor(stack: OpenElements, signatureAt: SignatureAt) {
    this.#stack = stack;
    this.#signatureAt = signatureAt;
  }

  push(element: OpenElement): void {
    let alike = 0;
    const lowest = this.#lowest();
    let at = this.#entries.length - 1;
    for (; at >= lowest; at--) {
      const entry = this.#entries[at];
      if (entry === undefined) break;
      if (entry.name === element.name) alike++;
    }
    this.#stack.budget -= this.#entries.length - at;
    // To compare costs more than a step.
    if (alike >= MOST_EQUAL && this.#stack.budget > 0) this.#dropEqual(element, at + 1);
    if (this.#entries.length >= MOST_ENTRIES) this.#entries.splice(0, MOST_ENTRIES / 2);
    this.#entries.push(element);
  }

  /** Of the entries from `first` on that are equal to an element the oldest, if there are too many. */
  #dropEqual(element: OpenElement, first: number): void {
    const signature = this.#signatureOf(element);
    let equal = 0;
    let oldest = 0;
    for (let at = this.#entries.length - 1; at >= first; at--) {
      const entry = this.#entries[at] as OpenElement;
      if (entry.name !== element.name || this.#signatureOf(entry) !== signature) continue;
      equal++;
      oldest = at;
    }
    if (equal >= MOST_EQUAL) removeAt(this.#entries, oldest);
  }

  /** Most elements are never compared with others. */
  #signatureOf(element: OpenElement): string {
    element.signature ??= this.#signatureAt(element.attributes);
    return element.signature;
  }

  mark(): void {
    this.#entries.push(undefined);
  }

  clearToMarker(): void {
    this.#entries.length = Math.max(0, this.#entries.lastIndexOf(undefined));
  }

  remove(element: OpenElement): void {
    const at = this.#indexOf(element);
    if (at >= 0) removeAt(this.#entries, at);
  }

  /** The last element with this name behind the last marker. */
  last(name: string): OpenElement | undefined {
    const lowest = this.#lowest();
    for (let at = this.#entries.length - 1; at >= lowest; at--) {
      const entry = this.#entries[at];
      if (entry === undefined) return undefined;
      this.#stack.budget--;
      if (entry.name === name) return entry;
    }
    return undefined;
  }

  /** "Reconstruct the active formatting elements": opens those again that were closed by others. */
  reconstruct(): void {
    const entries = this.#entries;
    let first = entries.length;
    // Each time anew this may open all that the page ever left open: no further than the budget goes.
    const lowest = this.#stack.budget > 0 ? 0 : Math.max(0, first - MOST_EQUAL);
    while (first > lowest) {
      const entry = entries[first - 1];
      if (entry === undefined || entry.open) break;
      first--;
    }
    this.#stack.budget -= (entries.length - first) * STEPS_PER_CLONE;
    for (; first < entries.length; first++) {
      const clone = copyOf(entries[first] as OpenElement);
      this.#stack.push(clone);
      entries[first] = clone;
    }
  }

  /**
   * The adoption agency algorithm, as far as it changes the stack.
   * @param onOther - What to do where no such element is in the list.
   */
  adopt(name: string, onOther: () => void): void {
    const stack = this.#stack;
    if (stack.isCurrent(name) && this.#indexOf(stack.current) < 0) {
      stack.pop();
      return;
    }
    for (let loop = 0; loop < MOST_OUTER_LOOPS; loop++) {
      const element = this.last(name);
      if (element === undefined) {
        onOther();
        return;
      }
      if (!element.open) {
        this.remove(element);
        return;
      }
      const at = stack.indexInScope(element);
      if (at < 0) return;
      const block = this.#furthestBlock(at);
      if (block < 0) {
        stack.shorten(at);
        this.remove(element);
        return;
      }
      this.#moveBelow(element, at, block);
    }
  }

  /** The lowest special element above a formatting element. */
  #furthestBlock(at: number): number {
    const { items } = this.#stack;
    for (let above = at + 1; above < items.length; above++) {
      this.#stack.budget--;
      if (((items[above] as OpenElement).bits & IS.special) !== 0) return above;
    }
    return -1;
  }

  /** Steps 4.11 to 4.19: the formatting element is opened once more within the furthest block. */
  #moveBelow(element: OpenElement, at: number, blockAt: number): void {
    const { items } = this.#stack;
    let place = blockAt;
    let bookmark: OpenElement = element;
    let isFirst = true;
    for (let count = 0, below = blockAt - 1; below > at; below--, count++) {
      const node = items[below] as OpenElement;
      const entry = this.#indexOf(node);
      if (entry < 0 || count >= MOST_INNER_LOOPS) {
        if (entry >= 0) removeAt(this.#entries, entry);
        this.#stack.removeAt(below);
        place--;
        continue;
      }
      const clone = copyOf(node);
      node.open = false;
      clone.open = true;
      items[below] = clone;
      this.#entries[entry] = clone;
      if (isFirst) bookmark = clone;
      isFirst = false;
    }
    const clone = copyOf(element);
    insertAt(this.#entries, this.#indexOf(bookmark) + 1, clone);
    this.remove(element);
    // The block moves down into the place of what was removed, and the clone goes above it.
    this.#stack.removeAt(at);
    clone.open = true;
    insertAt(items, place, clone);
    this.#stack.budget -= this.#entries.length + items.length - at;
  }

  #indexOf(element: OpenElement): number {
    const lowest = this.#lowest();
    let at = this.#entries.length - 1;
    while (at >= lowest && this.#entries[at] !== element) at--;
    this.#stack.budget -= this.#entries.length - at;
    return at < lowest ? -1 : at;
  }

  #lowest(): number {
    return this.#stack.budget > 0 ? 0 : Math.max(0, this.#entries.length - NEAR);
  }
}

const NEAR = 16;
/** What it costs to open an element once more, next to a step of a search. */
const STEPS_PER_CLONE = 16;

function copyOf(element: OpenElement): OpenElement {
  const { name, bits, attributes, signature } = element;
  return { name, namespace: HTML, bits, attributes, signature, open: false };
}
