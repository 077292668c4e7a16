import { HTML, IS, MATHML, type OpenElement, SVG } from './elements.ts';
import { adoptHtml, endOfTemplate, startOfHead } from './head.ts';
import { MODE, type StartTag, type TreeState } from './state.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const HEADINGS = words('h1 h2 h3 h4 h5 h6');

/** What most elements have in common with others when they begin. */
const STARTS = {
  head: 1,
  formatting: 2,
  /** Closes an open paragraph. */
  block: 3,
  empty: 4,
  heading: 5,
  emptyAnywhere: 6,
  marked: 7,
  dropped: 8,
  odd: 9,
} as const;
/** The same for end tags. */
const ENDS = { formatting: 1, block: 2, heading: 3, marked: 4, odd: 5 } as const;

const BLOCKS =
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup ' +
  'main menu nav ol p search section summary ul';
const FORMATTING = 'b big code em font i s small strike strong tt u';
const MARKED = 'applet marquee object';

const starts = new Map<string, number>();
const ends = new Map<string, number>();

function assign(map: Map<string, number>, kind: number, names: string): void {
  for (const name of names.split(' ')) map.set(name, kind);
}

assign(starts, STARTS.head, 'base basefont bgsound link meta noframes script style template title');
assign(starts, STARTS.formatting, FORMATTING);
assign(starts, STARTS.block, BLOCKS);
assign(starts, STARTS.empty, 'area br embed img keygen wbr');
assign(starts, STARTS.heading, 'h1 h2 h3 h4 h5 h6');
assign(starts, STARTS.emptyAnywhere, 'param source track');
assign(starts, STARTS.marked, MARKED);
assign(starts, STARTS.dropped, 'caption col colgroup frame head tbody td tfoot th thead tr');
assign(
  starts,
  STARTS.odd,
  'a body button dd dt form frameset hr html iframe image input li listing math nobr noembed optgroup option plaintext ' +
    'pre rb rp rt rtc select svg table textarea xmp',
);
assign(ends, ENDS.block, `${BLOCKS} button listing pre`);
// A paragraph is closed in its own scope.
assign(ends, ENDS.formatting, `${FORMATTING} a nobr`);
assign(ends, ENDS.heading, 'h1 h2 h3 h4 h5 h6');
assign(ends, ENDS.marked, MARKED);
assign(ends, ENDS.odd, 'body br dd dt form html li p template');

const TABLE_MODES: ReadonlySet<number> = new Set([
  MODE.inTable,
  MODE.inCaption,
  MODE.inTableBody,
  MODE.inRow,
  MODE.inCell,
]);

/** The rules for start tags "in body". */
export function startInBody(tree: TreeState, tag: StartTag): void {
  const { stack, formatting } = tree;
  switch (starts.get(tag.name)) {
    case STARTS.head:
      startOfHead(tree, tag);
      return;
    case STARTS.formatting:
      startFormatting(tree, tag);
      return;
    case STARTS.block:
      tree.closePInButtonScope();
      tree.insert(tag);
      return;
    case STARTS.empty:
      startEmpty(tree, tag, tag.name);
      return;
    case STARTS.heading:
      tree.closePInButtonScope();
      if (stack.current.namespace === HTML && HEADINGS.has(stack.current.name)) stack.pop();
      tree.insert(tag);
      return;
    case STARTS.emptyAnywhere:
      tree.insertEmpty(tag);
      return;
    case STARTS.marked:
      formatting.reconstruct();
      tree.insert(tag);
      formatting.mark();
      tree.framesetOk = false;
      return;
    case STARTS.dropped:
      return;
    case STARTS.odd:
      startOther(tree, tag);
      return;
    default:
      formatting.reconstruct();
      tree.insert(tag);
  }
}

function startOther(tree: TreeState, tag: StartTag): void {
  const { stack, formatting } = tree;
  switch (tag.name) {
    case 'a':
      startAnchor(tree, tag);
      return;
    case 'li':
    case 'dd':
    case 'dt':
      startItem(tree, tag);
      return;
    case 'hr':
      tree.closePInButtonScope();
      tree.insertEmpty(tag);
      tree.framesetOk = false;
      return;
    case 'image':
      startEmpty(tree, tag, 'img');
      return;
    case 'input':
      formatting.reconstruct();
      tree.insertEmpty(tag);
      if (tag.attribute('type')?.toLowerCase() !== 'hidden') tree.framesetOk = false;
      return;
    case 'pre':
    case 'listing':
      tree.closePInButtonScope();
      tree.insert(tag);
      tree.framesetOk = false;
      return;
    case 'rb':
    case 'rtc':
      if (stack.inScope('ruby')) stack.closeImplied(IS.implied);
      tree.insert(tag);
      return;
    case 'rt':
    case 'rp':
      if (stack.inScope('ruby')) stack.closeImplied(IS.impliedAll, 'rtc');
      tree.insert(tag);
      return;
    case 'html':
      adoptHtml(tree);
      return;
    case 'body':
      startBodyAgain(tree);
      return;
    case 'form':
      startForm(tree, tag);
      return;
    case 'frameset':
      startFrameset(tree, tag);
      return;
    case 'nobr':
      formatting.reconstruct();
      if (stack.inScope('nobr')) {
        adopt(tree, 'nobr');
        formatting.reconstruct();
      }
      formatting.push(tree.insert(tag));
      return;
    case 'table':
      if (!tree.quirks) tree.closePInButtonScope();
      tree.insert(tag);
      tree.framesetOk = false;
      tree.mode = MODE.inTable;
      return;
    case 'button':
      if (stack.inScope('button')) {
        stack.closeImplied(IS.implied);
        stack.popThrough('button');
      }
      formatting.reconstruct();
      tree.insert(tag);
      tree.framesetOk = false;
      return;
    case 'select':
      formatting.reconstruct();
      tree.insert(tag);
      tree.framesetOk = false;
      tree.mode = TABLE_MODES.has(tree.mode) ? MODE.inSelectInTable : MODE.inSelect;
      return;
    case 'option':
    case 'optgroup':
      if (stack.isCurrentNamed('option')) stack.pop();
      formatting.reconstruct();
      tree.insert(tag);
      return;
    case 'svg':
      startForeign(tree, tag, SVG);
      return;
    case 'math':
      startForeign(tree, tag, MATHML);
      return;
    default:
      startText(tree, tag);
  }
}

/** Elements that hold only text. */
function startText(tree: TreeState, tag: StartTag): void {
  switch (tag.name) {
    case 'textarea':
      tree.insertEmpty(tag);
      tree.framesetOk = false;
      return;
    case 'xmp':
      tree.closePInButtonScope();
      tree.formatting.reconstruct();
      tree.framesetOk = false;
      tree.insertEmpty(tag);
      return;
    case 'iframe':
      tree.framesetOk = false;
      tree.insertEmpty(tag);
      return;
    case 'noembed':
    case 'plaintext':
      tree.insertEmpty(tag);
      return;
    default:
  }
}

function startFormatting(tree: TreeState, tag: StartTag): void {
  tree.formatting.reconstruct();
  tree.formatting.push(tree.insert(tag));
}

function startEmpty(tree: TreeState, tag: StartTag, name: string): void {
  tree.formatting.reconstruct();
  tree.insertEmpty(tag, HTML, name);
  tree.framesetOk = false;
}

function startAnchor(tree: TreeState, tag: StartTag): void {
  const open = tree.formatting.last('a');
  if (open !== undefined) {
    adopt(tree, 'a');
    tree.stack.remove(open);
    tree.formatting.remove(open);
  }
  startFormatting(tree, tag);
}

function startItem(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  tree.framesetOk = false;
  const at = tag.name === 'li' ? stack.topmost('li') : stack.topmost('dd', 'dt');
  if (at >= 0 && !stack.hasAbove(at, IS.itemBoundary)) {
    const { name } = stack.items[at] as OpenElement;
    stack.closeImplied(IS.impliedAll, name);
    stack.popThrough(name);
  }
  tree.closePInButtonScope();
  tree.insert(tag);
}

function startBodyAgain(tree: TreeState): void {
  if (!isBody(tree.stack.items[1]) || tree.stack.templates > 0) return;
  tree.framesetOk = false;
  tree.adoptedBy = 'body';
}

function startForm(tree: TreeState, tag: StartTag): void {
  const inTemplate = tree.stack.templates > 0;
  if (tree.form !== undefined && !inTemplate) return;
  tree.closePInButtonScope();
  const element = tree.insert(tag);
  if (!inTemplate) tree.form = element;
}

/** A frameset takes the place of a body that shows nothing yet. */
function startFrameset(tree: TreeState, tag: StartTag): void {
  if (!tree.framesetOk || !isBody(tree.stack.items[1])) return;
  tree.stack.shorten(1);
  tree.insert(tag);
  tree.mode = MODE.inFrameset;
  tree.droppedBody = true;
}

function startForeign(tree: TreeState, tag: StartTag, namespace: number): void {
  tree.formatting.reconstruct();
  if (tag.selfClosing) tree.insertEmpty(tag, namespace);
  else tree.insert(tag, namespace);
}

function isBody(element: OpenElement | undefined): boolean {
  return element !== undefined && element.name === 'body';
}

function adopt(tree: TreeState, name: string): void {
  tree.formatting.adopt(name, () => endOther(tree, name));
}

/** The rules for end tags "in body". */
export function endInBody(tree: TreeState, name: string): void {
  const { stack } = tree;
  switch (ends.get(name)) {
    case ENDS.formatting:
      adopt(tree, name);
      return;
    case ENDS.block:
      if (!stack.inScope(name)) return;
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
      return;
    case ENDS.heading:
      if (!stack.findInScope((element) => HEADINGS.has(element.name))) return;
      stack.closeImplied(IS.implied);
      stack.popThrough(...HEADINGS);
      return;
    case ENDS.marked:
      if (!stack.inScope(name)) return;
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
      tree.formatting.clearToMarker();
      return;
    case ENDS.odd:
      endOfNamed(tree, name);
      return;
    default:
      endOther(tree, name);
  }
}

function endOfNamed(tree: TreeState, name: string): void {
  const { stack } = tree;
  switch (name) {
    case 'p':
      // Without a paragraph to close, one begins and ends.
      if (stack.hasParagraphInButtonScope()) tree.closeP();
      return;
    case 'li':
      if (!stack.inScope('li', IS.scope | IS.listScope)) return;
      stack.closeImplied(IS.impliedAll, 'li');
      stack.popThrough('li');
      return;
    case 'dd':
    case 'dt':
      if (!stack.inScope(name)) return;
      stack.closeImplied(IS.impliedAll, name);
      stack.popThrough(name);
      return;
    case 'br':
      tree.formatting.reconstruct();
      tree.framesetOk = false;
      return;
    case 'body':
      if (stack.inScope('body')) tree.mode = MODE.afterBody;
      return;
    case 'html':
      if (stack.inScope('body')) tree.mode = MODE.afterAfterBody;
      return;
    case 'form':
      endForm(tree);
      return;
    case 'template':
      endOfTemplate(tree);
      return;
    default:
  }
}

function endForm(tree: TreeState): void {
  const { stack, form } = tree;
  const inTemplate = stack.templates > 0;
  if (!inTemplate) tree.form = undefined;
  if ((form === undefined && !inTemplate) || !stack.inScope('form')) return;
  stack.closeImplied(IS.implied);
  if (inTemplate) stack.popThrough('form');
  else if (form !== undefined) stack.remove(form);
}

/** "Any other end tag": closes the topmost element of the name, unless a special one is in the way. */
function endOther(tree: TreeState, name: string): void {
  const { stack } = tree;
  const at = stack.topmost(name);
  if (at <= 0 || stack.hasAbove(at, IS.special)) return;
  stack.closeImplied(IS.impliedAll, name);
  if (stack.items.length > at) stack.shorten(at);
}
