import { BLOCKS, FORMATTING, HEADINGS, kindsByName, MARKED } from './body-names.ts';
import { IS } from './elements.ts';
import { endOfTemplate } from './head.ts';
import { MODE, type TreeState } from './state.ts';

const KIND = { formatting: 1, block: 2, heading: 3, marked: 4, odd: 5 } as const;

const kinds = kindsByName([
  [KIND.block, [...BLOCKS, 'button', 'listing', 'pre']],
  [KIND.formatting, [...FORMATTING, 'a', 'nobr']],
  [KIND.heading, HEADINGS],
  [KIND.marked, MARKED],
  // `p` is among the blocks, too.
  [KIND.odd, ['body', 'br', 'dd', 'dt', 'form', 'html', 'li', 'p', 'template']],
]);

/** The rules for end tags "in body". */
export function endInBody(tree: TreeState, name: string): void {
  const { stack } = tree;
  switch (kinds.get(name)) {
    case KIND.formatting:
      adopt(tree, name);
      return;
    case KIND.block:
      if (!stack.inScope(name)) return;
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
      return;
    case KIND.heading:
      if (!stack.kindInScope(IS.heading)) return;
      stack.closeImplied(IS.implied);
      stack.popThroughKind(IS.heading);
      return;
    case KIND.marked:
      if (!stack.inScope(name)) return;
      stack.closeImplied(IS.implied);
      stack.popThrough(name);
      tree.formatting.clearToMarker();
      return;
    case KIND.odd:
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

/** The adoption agency algorithm, for an end tag or for a start tag that ends an element of its name. */
export function adopt(tree: TreeState, name: string): void {
  tree.formatting.adopt(name, () => endOther(tree, name));
}
