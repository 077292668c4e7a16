import { endInBody } from './body-ends.ts';
import { startInBody } from './body-starts.ts';
import { HTML } from './elements.ts';
import { endInForeign, isForeignStart, isInForeign, startInForeign } from './foreign.ts';
import { adoptHtml, endBeforeBody, endOfTemplate, enterBody, startBeforeBody, startOfHead } from './head.ts';
import { endInSelect, endInSelectInTable, startInSelect, startInSelectInTable } from './select.ts';
import { MODE, type SignatureAt, type StartTag, type TextRun, TreeState } from './state.ts';
import {
  endInCaption,
  endInCell,
  endInRow,
  endInTable,
  endInTableBody,
  leaveColumnGroup,
  startInCaption,
  startInCell,
  startInRow,
  startInTable,
  startInTableBody,
  textInTable,
} from './table.ts';

/**
 * The tree construction stage of the HTML Standard (13.2.6) without a tree: of the stack of open elements, the list of
 * formatting elements and the insertion mode it keeps what decides whether a tag becomes an element, in which namespace,
 * and whether in a template. What moves elements about in a tree that is there already is left out.
 */
export class TreeBuilder {
  readonly state: TreeState;

  /** @param budget - Steps that searches on the stack may take before they only look near its top. */
  constructor(budget: number, signatureAt: SignatureAt) {
    const again = { start: (tag: StartTag) => this.#start(tag), end: (name: string) => this.#end(name) };
    this.state = new TreeState(budget, again, signatureAt);
  }

  /** @param quirks - Whether it asks for the ways of old browsers. */
  doctype(quirks: boolean): void {
    if (this.state.mode !== MODE.initial) return;
    this.state.quirks = quirks;
    this.state.mode = MODE.beforeHtml;
  }

  /** A start tag; what became of it is in the state. */
  start(tag: StartTag): void {
    this.state.insertedName = '';
    this.state.adoptedBy = '';
    this.state.droppedBody = false;
    this.#start(tag);
  }

  end(name: string): void {
    this.#end(name);
  }

  /** Whether `<![CDATA[` begins a section here. */
  get inForeign(): boolean {
    return isInForeign(this.state);
  }

  #start(tag: StartTag): void {
    const { state } = this;
    if (isForeignStart(state, tag.name) && startInForeign(state, tag)) return;
    if (state.mode <= MODE.afterHead && startBeforeBody(state, tag)) return;
    switch (state.mode) {
      case MODE.inBody:
        startInBody(state, tag);
        return;
      case MODE.inTable:
        startInTable(state, tag);
        return;
      case MODE.inCaption:
        startInCaption(state, tag);
        return;
      case MODE.inColumnGroup:
        this.#startInColumnGroup(tag);
        return;
      case MODE.inTableBody:
        startInTableBody(state, tag);
        return;
      case MODE.inRow:
        startInRow(state, tag);
        return;
      case MODE.inCell:
        startInCell(state, tag);
        return;
      case MODE.inSelect:
        startInSelect(state, tag);
        return;
      case MODE.inSelectInTable:
        startInSelectInTable(state, tag);
        return;
      case MODE.inTemplate:
        this.#startInTemplate(tag);
        return;
      case MODE.inFrameset:
      case MODE.afterFrameset:
      case MODE.afterAfterFrameset:
        this.#startInFrameset(tag);
        return;
      default:
        this.#startAfterBody(tag);
        return;
    }
  }

  #startInColumnGroup(tag: StartTag): void {
    if (tag.name === 'html') adoptHtml(this.state);
    else if (tag.name === 'col') this.state.insertEmpty(tag);
    else if (tag.name === 'template') startOfHead(this.state, tag);
    else if (leaveColumnGroup(this.state)) this.#start(tag);
  }

  #startInTemplate(tag: StartTag): void {
    const { state } = this;
    if (startOfHead(state, tag)) return;
    state.mode = MODES_IN_TEMPLATE.get(tag.name) ?? MODE.inBody;
    state.templateModes[state.templateModes.length - 1] = state.mode;
    this.#startOutsideForeign(tag);
  }

  /** The mode has just been chosen for the tag, which goes by its rules whatever the current element is. */
  #startOutsideForeign(tag: StartTag): void {
    const { state } = this;
    if (state.mode === MODE.inTable) startInTable(state, tag);
    else if (state.mode === MODE.inColumnGroup) this.#startInColumnGroup(tag);
    else if (state.mode === MODE.inTableBody) startInTableBody(state, tag);
    else if (state.mode === MODE.inRow) startInRow(state, tag);
    else startInBody(state, tag);
  }

  #startAfterBody(tag: StartTag): void {
    if (tag.name === 'html') {
      adoptHtml(this.state);
      return;
    }
    this.state.mode = MODE.inBody;
    startInBody(this.state, tag);
  }

  #startInFrameset(tag: StartTag): void {
    const { state } = this;
    if (tag.name === 'html') adoptHtml(state);
    else if (tag.name === 'noframes') startOfHead(state, tag);
    else if (state.mode !== MODE.inFrameset) return;
    else if (tag.name === 'frameset') state.insert(tag);
    else if (tag.name === 'frame') state.insertEmpty(tag);
  }

  #end(name: string): void {
    const { state } = this;
    const current = state.stack.items.at(-1);
    if (current !== undefined && current.namespace !== HTML && endInForeign(state, name)) return;
    if (endBeforeBody(state, name)) return;
    switch (state.mode) {
      case MODE.inBody:
        endInBody(state, name);
        return;
      case MODE.inTable:
        endInTable(state, name);
        return;
      case MODE.inCaption:
        endInCaption(state, name);
        return;
      case MODE.inColumnGroup:
        this.#endInColumnGroup(name);
        return;
      case MODE.inTableBody:
        endInTableBody(state, name);
        return;
      case MODE.inRow:
        endInRow(state, name);
        return;
      case MODE.inCell:
        endInCell(state, name);
        return;
      case MODE.inSelect:
        endInSelect(state, name);
        return;
      case MODE.inSelectInTable:
        endInSelectInTable(state, name);
        return;
      case MODE.inTemplate:
        if (name === 'template') endOfTemplate(state);
        return;
      default:
        this.#endAfter(name);
        return;
    }
  }

  #endInColumnGroup(name: string): void {
    if (name === 'colgroup') leaveColumnGroup(this.state);
    else if (name === 'template') endOfTemplate(this.state);
    else if (name !== 'col' && leaveColumnGroup(this.state)) this.#end(name);
  }

  /** Behind the body, and in and behind framesets. */
  #endAfter(name: string): void {
    const { state } = this;
    switch (state.mode) {
      case MODE.inFrameset:
        if (name !== 'frameset' || state.stack.items.length <= 1) return;
        state.stack.pop();
        if (!state.stack.isCurrent('frameset')) state.mode = MODE.afterFrameset;
        return;
      case MODE.afterFrameset:
        if (name === 'html') state.mode = MODE.afterAfterFrameset;
        return;
      case MODE.afterAfterFrameset:
        return;
      default:
        if (name === 'html' && state.mode === MODE.afterBody) {
          state.mode = MODE.afterAfterBody;
          return;
        }
        state.mode = MODE.inBody;
        endInBody(state, name);
    }
  }

  /** A run of characters between tags. */
  text(run: TextRun): void {
    const { state } = this;
    if (isInForeign(state)) {
      if (run.other) state.framesetOk = false;
      return;
    }
    if (state.mode <= MODE.afterHead) {
      if (!run.nul && !run.other) {
        return;
      }
      enterBody(state);
    }
    switch (state.mode) {
      case MODE.inTable:
      case MODE.inTableBody:
      case MODE.inRow:
        textInTable(state, run);
        return;
      case MODE.inColumnGroup:
        if ((run.other || run.nul) && leaveColumnGroup(state)) this.text(run);
        return;
      case MODE.inSelect:
      case MODE.inSelectInTable:
      case MODE.inFrameset:
      case MODE.afterFrameset:
      case MODE.afterAfterFrameset:
        return;
      case MODE.afterBody:
      case MODE.afterAfterBody:
        if (run.other || run.nul) state.mode = MODE.inBody;
        state.textInBody(run);
        return;
      default:
        state.textInBody(run);
        return;
    }
  }
}

const MODES_IN_TEMPLATE: ReadonlyMap<string, number> = new Map([
  ['caption', MODE.inTable],
  ['colgroup', MODE.inTable],
  ['tbody', MODE.inTable],
  ['tfoot', MODE.inTable],
  ['thead', MODE.inTable],
  ['col', MODE.inColumnGroup],
  ['tr', MODE.inTableBody],
  ['td', MODE.inRow],
  ['th', MODE.inRow],
]);
