import { adopt } from './body-ends.ts';
import { BLOCKS, FORMATTING, HEADINGS, kindsByName, MARKED } from './body-names.ts';
import { HTML, IS, KNOWN_NAMES, MATHML, type OpenElement, SVG } from './elements.ts';
import { adoptHtml, startOfHead } from './head.ts';
import { MODE, type StartTag, type TreeState } from './state.ts';

/** What most elements have in common with others when they begin. */
const KIND = {
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

const words = (list: string): readonly string[] => list.split(' ');

const kindsOfNames = kindsByName([
  [KIND.head, words('base basefont bgsound link meta noframes script style template title')],
  [KIND.formatting, FORMATTING],
  [KIND.block, BLOCKS],
  [KIND.empty, words('area br embed img keygen wbr')],
  [KIND.heading, HEADINGS],
  [KIND.emptyAnywhere, words('param source track')],
  [KIND.marked, MARKED],
  [KIND.dropped, words('caption col colgroup frame head tbody td tfoot th thead tr')],
  [
    KIND.odd,
    words(
      'a body button dd dt form frameset hr html iframe image input li listing math nobr noembed optgroup option ' +
        'plaintext pre rb rp rt rtc select svg table textarea xmp',
    ),
  ],
]);

/** By number of the name. */
const kinds = Uint8Array.from(['', ...KNOWN_NAMES], (name) => kindsOfNames.get(name) ?? 0);

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
  switch (kinds[tag.id]) {
    case KIND.head:
      startOfHead(tree, tag);
      return;
    case KIND.formatting:
      startFormatting(tree, tag);
      return;
    case KIND.block:
      tree.closePInButtonScope();
      tree.insert(tag);
      return;
    case KIND.empty:
      startEmpty(tree, tag, tag.name);
      return;
    case KIND.heading:
      tree.closePInButtonScope();
      if ((stack.current.bits & IS.heading) !== 0) stack.pop();
      tree.insert(tag);
      return;
    case KIND.emptyAnywhere:
      tree.insertEmpty(tag);
      return;
    case KIND.marked:
      formatting.reconstruct();
      tree.insert(tag);
      formatting.mark();
      tree.framesetOk = false;
      return;
    case KIND.dropped:
      return;
    case KIND.odd:
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
