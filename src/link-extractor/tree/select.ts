import { HTML, IS } from './elements.ts';
import { adoptHtml, endOfTemplate, startOfHead } from './head.ts';
import type { StartTag, TreeState } from './state.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const TABLE_PARTS = words('caption table tbody td tfoot th thead tr');
const CLOSING = words('input keygen select textarea');

/** The rules "in select", which drop what a list of options does not hold. */
export function startInSelect(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  const { name } = tag;
  if (name === 'html') {
    adoptHtml(tree);
  } else if (name === 'option' || name === 'optgroup' || name === 'hr') {
    if (stack.isCurrentNamed('option')) stack.pop();
    if (name !== 'option' && stack.isCurrentNamed('optgroup')) stack.pop();
    if (name === 'hr') tree.insertEmpty(tag);
    else tree.insert(tag);
  } else if (CLOSING.has(name)) {
    if (!inSelectScope(tree)) return;
    stack.popThrough('select');
    tree.resetMode();
    if (name !== 'select') tree.again.start(tag);
  } else if (name === 'script' || name === 'template') {
    startOfHead(tree, tag);
  }
}

export function endInSelect(tree: TreeState, name: string): void {
  const { stack } = tree;
  if (name === 'optgroup') {
    const below = stack.items.at(-2);
    if (stack.isCurrentNamed('option') && below?.name === 'optgroup') stack.pop();
    if (stack.isCurrentNamed('optgroup')) stack.pop();
  } else if (name === 'option') {
    if (stack.isCurrentNamed('option')) stack.pop();
  } else if (name === 'select') {
    if (!inSelectScope(tree)) return;
    stack.popThrough('select');
    tree.resetMode();
  } else if (name === 'template') endOfTemplate(tree);
}

export function startInSelectInTable(tree: TreeState, tag: StartTag): void {
  if (!TABLE_PARTS.has(tag.name)) {
    startInSelect(tree, tag);
    return;
  }
  tree.stack.popThrough('select');
  tree.resetMode();
  tree.again.start(tag);
}

export function endInSelectInTable(tree: TreeState, name: string): void {
  if (!TABLE_PARTS.has(name)) {
    endInSelect(tree, name);
    return;
  }
  if (!tree.stack.inScope(name, IS.tableScope)) return;
  tree.stack.popThrough('select');
  tree.resetMode();
  tree.again.end(name);
}

/** Whether a select is open with nothing but options above it. */
function inSelectScope(tree: TreeState): boolean {
  const { items } = tree.stack;
  for (let at = items.length - 1, lowest = tree.stack.lowest(); at >= lowest; at--) {
    tree.stack.budget--;
    const element = items[at];
    if (element === undefined || element.namespace !== HTML) continue;
    if (element.name === 'select') return true;
    if (element.name !== 'option' && element.name !== 'optgroup') return false;
  }
  return true;
}
