import { bitsOf, HTML, IS, likeOthers, MATHML, type OpenElement } from './elements.ts';
import { FormattingElements } from './formatting.ts';
import { OpenElements } from './open-elements.ts';

/** A start tag as the tree builder sees it. */
export interface StartTag {
  /** In lower case. */
  readonly name: string;
  /** Its number among `KNOWN_NAMES`, from 1; 0 for a name that is not there. */
  readonly id: number;
  /** What is known of HTML elements of this name. */
  readonly bits: number;
  readonly selfClosing: boolean;
  /** The value of an attribute; `undefined` where the tag has none. */
  attribute(name: 'type' | 'encoding'): string | undefined;
  /** Where the attributes begin in the text; 0 where there are none. */
  readonly attributes: number;
}

/**
 * The attributes that begin at a place in a form that is equal for equal ones: each as its name, NUL and its value, NUL
 * twice between them; empty for place 0.
 */
export type SignatureAt = (attributes: number) => string;

/** What a run of characters holds: that is all the tree builder needs to know of it. */
export interface TextRun {
  readonly space: boolean;
  readonly nul: boolean;
  /** Anything but white space and NUL. */
  readonly other: boolean;
}

/** Insertion modes (HTML Standard, 13.2.4.1). Text mode is not among them: elements that hold text are closed at once. */
export const MODE = {
  initial: 0,
  beforeHtml: 1,
  beforeHead: 2,
  inHead: 3,
  inHeadNoscript: 4,
  afterHead: 5,
  inBody: 6,
  inTable: 7,
  inCaption: 8,
  inColumnGroup: 9,
  inTableBody: 10,
  inRow: 11,
  inCell: 12,
  inSelect: 13,
  inSelectInTable: 14,
  inTemplate: 15,
  afterBody: 16,
  inFrameset: 17,
  afterFrameset: 18,
  afterAfterBody: 19,
  afterAfterFrameset: 20,
} as const;

const MODES_OF_OPEN: Readonly<Record<string, number>> = {
  tr: MODE.inRow,
  tbody: MODE.inTableBody,
  thead: MODE.inTableBody,
  tfoot: MODE.inTableBody,
  caption: MODE.inCaption,
  colgroup: MODE.inColumnGroup,
  table: MODE.inTable,
  body: MODE.inBody,
  frameset: MODE.inFrameset,
  td: MODE.inCell,
  th: MODE.inCell,
  head: MODE.inHead,
  select: MODE.inSelect,
  template: MODE.inTemplate,
  html: MODE.afterHead,
};

/** Goes over the rules again with a tag that changed the mode. */
export interface Reprocess {
  start(tag: StartTag): void;
  end(name: string): void;
}

/** What the tree builder remembers between tokens, and the steps that its rules share. No tree is kept. */
export class TreeState {
  readonly stack: OpenElements;
  readonly formatting: FormattingElements;
  readonly again: Reprocess;
  mode: number = MODE.initial;
  readonly templateModes: number[] = [];
  hasHead = false;
  /** Whether the body has begun. */
  hasBody = false;
  framesetOk = true;
  /** The form element pointer. */
  form: OpenElement | undefined;
  /** Whether the document type asks for the ways of old browsers. */
  quirks = true;

  // What became of the start tag processed last.
  /** Its element's name, which HTML may have changed; empty where the tag was dropped. */
  insertedName = '';
  insertedNamespace: number = HTML;
  /** Whether the element is in the document, and not in a template. */
  insertedCounts = false;
  /** The tag added its attributes to an element that was there. */
  adoptedBy = '';
  /** A frameset took the place of the body, and of all that was in it. */
  droppedBody = false;

  readonly signatureAt: SignatureAt;

  constructor(budget: number, again: Reprocess, signatureAt: SignatureAt) {
    this.stack = new OpenElements(budget);
    this.formatting = new FormattingElements(this.stack, signatureAt);
    this.again = again;
    this.signatureAt = signatureAt;
  }

  /** "Insert an element" for a tag, which stays open. */
  insert(tag: StartTag, namespace: number = HTML, name: string = tag.name): OpenElement {
    this.#note(name, namespace);
    const element = this.#elementFor(tag, namespace, name);
    this.stack.push(element);
    return element;
  }

  #elementFor(tag: StartTag, namespace: number, name: string): OpenElement {
    if (namespace === MATHML && name === 'annotation-xml' && isHtmlEncoding(tag.attribute('encoding'))) {
      return {
        name,
        namespace,
        bits: bitsOf(name, namespace) | IS.htmlPoint,
        attributes: 0,
        signature: '',
        open: false,
      };
    }
    const id = name === tag.name ? tag.id : undefined;
    if (namespace !== HTML) return likeOthers(name, namespace, id);
    const { bits } = tag;
    if ((bits & IS.formatting) !== 0) {
      const { attributes } = tag;
      return { name, namespace, bits, attributes, signature: attributes === 0 ? '' : undefined, open: false };
    }
    return name === 'form'
      ? { name, namespace, bits, attributes: 0, signature: '', open: false }
      : likeOthers(name, HTML, id);
  }

  /** The same for an element that holds no elements. */
  insertEmpty(tag: StartTag, namespace: number = HTML, name: string = tag.name): void {
    this.#note(name, namespace);
  }

  /** Opens an element whose tag was left out. */
  imply(name: string): void {
    this.stack.push(likeOthers(name, HTML));
  }

  #note(name: string, namespace: number): void {
    this.insertedName = name;
    this.insertedNamespace = namespace;
    this.insertedCounts = this.stack.templates === 0;
  }

  closeP(): void {
    this.stack.closeImplied(IS.impliedAll, 'p');
    this.stack.popThrough('p');
  }

  closePInButtonScope(): void {
    if (this.stack.hasParagraphInButtonScope()) this.closeP();
  }

  /** "Reset the insertion mode appropriately". */
  resetMode(): void {
    const { items } = this.stack;
    for (let at = items.length - 1, lowest = this.stack.lowest(); at >= lowest; at--) {
      this.stack.budget--;
      const { name, namespace } = items[at] as OpenElement;
      if (namespace !== HTML || !Object.hasOwn(MODES_OF_OPEN, name)) continue;
      if (name === 'select') this.mode = this.#modeOfSelect(at);
      else if (name === 'template') this.mode = this.templateModes.at(-1) ?? MODE.inBody;
      else if (name === 'html') this.mode = this.hasHead ? MODE.afterHead : MODE.beforeHead;
      else this.mode = MODES_OF_OPEN[name] as number;
      return;
    }
    this.mode = MODE.inBody;
  }

  #modeOfSelect(select: number): number {
    const { items } = this.stack;
    for (let at = select - 1, lowest = this.stack.lowest(); at > lowest; at--) {
      this.stack.budget--;
      const { name, namespace } = items[at] as OpenElement;
      if (namespace !== HTML) continue;
      if (name === 'template') break;
      if (name === 'table') return MODE.inSelectInTable;
    }
    return MODE.inSelect;
  }

  /** Text where it belongs, in the body or what is like it. */
  textInBody(run: TextRun): void {
    if (run.space || run.other) this.formatting.reconstruct();
    if (run.other) this.framesetOk = false;
  }
}

function isHtmlEncoding(encoding: string | undefined): boolean {
  const value = encoding?.toLowerCase();
  return value === 'text/html' || value === 'application/xhtml+xml';
}
