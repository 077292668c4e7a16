import { HTML, IS, MATHML, type OpenElement, SVG } from './elements.ts';
import { adoptHtml, endOfTemplate, startOfHead } from './head.ts';
import { MODE, type StartTag, type TreeState } from './state.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const HEADINGS = words('h1 h2 h3 h4 h5 h6');
/** Close an open paragraph when they begin, and are closed by their own end tags alone. */
const BLOCKS = words(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup ' +
    'main menu nav ol search section summary ul',
);
const BLOCK_ENDS: ReadonlySet<string> = new Set([...BLOCKS, 'button', 'listing', 'pre']);
const FORMATTING = words('b big code em font i s small strike strong tt u');
const FORMATTING_ENDS: ReadonlySet<string> = new Set([...FORMATTING, 'a', 'nobr']);
const EMPTY = words('area br embed img keygen wbr');
const EMPTY_ANYWHERE = words('param source track');
const MARKED = words('applet marquee object');
const DROPPED = words('caption col colgroup frame head tbody td tfoot th thead tr');
const TABLE_MODES: ReadonlySet<number> = new Set([
  MODE.inTable,
  MODE.inCaption,
  MODE.inTableBody,
  MODE.inRow,
  MODE.inCell,
]);

/** The rules for start tags "in body". */
export function startInBody(tree: TreeState, tag: StartTag): void {
  const { name } = tag;
  const { stack, formatting } = tree;
  if (startOfHead(tree, tag)) return;
  if (FORMATTING.has(name)) {
    startFormatting(tree, tag);
    return;
  }
  if (BLOCKS.has(name)) {
    tree.closePInButtonScope();
    tree.insert(tag);
  } else if (EMPTY.has(name)) {
    startEmpty(tree, tag, name);
  } else if (HEADINGS.has(name)) {
    tree.closePInButtonScope();
    if (stack.current.namespace === HTML && HEADINGS.has(stack.current.name)) stack.pop();
    tree.insert(tag);
  } else if (EMPTY_ANYWHERE.has(name)) {
    tree.insertEmpty(tag);
  } else if (MARKED.has(name)) {
    formatting.reconstruct();
    tree.insert(tag);
    formatting.mark();
    tree.framesetOk = false;
  } else if (!DROPPED.has(name)) {
    startOther(tree, tag);
  }
}

function startOther(tree: TreeState, tag: StartTag): void {
  const { stack, formatting } = tree;
  switch (tag.name) {
    case 'a':
      startAnchor(tree, tag);
      return;
    case 'p':
      tree.closePInButtonScope();
      tree.insert(tag);
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

/** Elements that hold only text, and those of no special kind. */
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
      tree.formatting.reconstruct();
      tree.insert(tag);
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
  if (FORMATTING_ENDS.has(name)) {
    adopt(tree, name);
    return;
  }
  if (BLOCK_ENDS.has(name)) {
    if (stack.inScope(name)) {
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
    }
  } else if (HEADINGS.has(name)) {
    if (stack.findInScope((element) => HEADINGS.has(element.name))) {
      stack.closeImplied(IS.implied);
      stack.popThrough(...HEADINGS);
    }
  } else if (MARKED.has(name)) {
    if (stack.inScope(name)) {
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
      tree.formatting.clearToMarker();
    }
  } else endOfNamed(tree, name);
}

function endOfNamed(tree: TreeState, name: string): void {
  const { stack } = tree;
  switch (name) {
    case 'p':
      // Without a paragraph to close, one begins and ends.
      if (stack.inButtonScope('p')) tree.closeP();
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
      endOther(tree, name);
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
