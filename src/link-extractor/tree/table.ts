import { endInBody } from './body-ends.ts';
import { startInBody } from './body-starts.ts';
import { HTML, IS } from './elements.ts';
import { endOfTemplate, startOfHead } from './head.ts';
import { MODE, type StartTag, type TextRun, type TreeState } from './state.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Parts of tables, which a cell or a caption ends at. */
const PARTS = words('caption col colgroup tbody td tfoot th thead tr');
const BODIES = words('tbody tfoot thead');
const CELLS = words('td th');
/** Elements that text must not stand in directly. */
const STRUCTURE = words('table tbody tfoot thead tr');
const IGNORED_ENDS = words('body caption col colgroup html tbody td tfoot th thead tr');

export function startInTable(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  const { name } = tag;
  if (CELLS.has(name) || name === 'tr') {
    stack.clearTo('table');
    tree.imply('tbody');
    tree.mode = MODE.inTableBody;
    startInTableBody(tree, tag);
  } else if (BODIES.has(name)) {
    stack.clearTo('table');
    tree.insert(tag);
    tree.mode = MODE.inTableBody;
  } else if (name === 'caption') {
    stack.clearTo('table');
    tree.formatting.mark();
    tree.insert(tag);
    tree.mode = MODE.inCaption;
  } else if (name === 'colgroup') {
    stack.clearTo('table');
    tree.insert(tag);
    tree.mode = MODE.inColumnGroup;
  } else if (name === 'col') {
    stack.clearTo('table');
    tree.imply('colgroup');
    tree.mode = MODE.inColumnGroup;
    tree.insertEmpty(tag);
  } else startOddInTable(tree, tag);
}

function startOddInTable(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  switch (tag.name) {
    case 'style':
    case 'script':
    case 'template':
      startOfHead(tree, tag);
      return;
    case 'form':
      if (tree.form !== undefined || stack.templates > 0) return;
      tree.form = tree.insert(tag);
      stack.pop();
      return;
    case 'table':
      if (!stack.inTableScope('table')) return;
      stack.popThrough('table');
      tree.resetMode();
      tree.again.start(tag);
      return;
    case 'input':
      if (tag.attribute('type')?.toLowerCase() === 'hidden') tree.insertEmpty(tag);
      else startInBody(tree, tag);
      return;
    default:
      startInBody(tree, tag);
  }
}

export function endInTable(tree: TreeState, name: string): void {
  if (name === 'table') {
    if (!tree.stack.inTableScope('table')) return;
    tree.stack.popThrough('table');
    tree.resetMode();
  } else if (name === 'template') endOfTemplate(tree);
  else if (!IGNORED_ENDS.has(name)) endInBody(tree, name);
}

export function textInTable(tree: TreeState, run: TextRun): void {
  // White space alone stays where it is; anything else goes before the table.
  if (!STRUCTURE.has(tree.stack.current.name) || run.other) tree.textInBody(run);
}

export function startInTableBody(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  if (tag.name === 'tr') {
    stack.clearTo(...BODIES);
    tree.insert(tag);
    tree.mode = MODE.inRow;
  } else if (CELLS.has(tag.name)) {
    stack.clearTo(...BODIES);
    tree.imply('tr');
    tree.mode = MODE.inRow;
    startInRow(tree, tag);
  } else if (PARTS.has(tag.name)) {
    if (leaveTableBody(tree)) startInTable(tree, tag);
  } else startInTable(tree, tag);
}

export function endInTableBody(tree: TreeState, name: string): void {
  const { stack } = tree;
  if (BODIES.has(name)) {
    if (!stack.inTableScope(name)) return;
    stack.clearTo(...BODIES);
    stack.pop();
    tree.mode = MODE.inTable;
  } else if (name === 'table') {
    if (leaveTableBody(tree)) endInTable(tree, name);
  } else endInTable(tree, name);
}

function leaveTableBody(tree: TreeState): boolean {
  const { stack } = tree;
  if (!stack.inTableScope(...BODIES)) return false;
  stack.clearTo(...BODIES);
  stack.pop();
  tree.mode = MODE.inTable;
  return true;
}

export function startInRow(tree: TreeState, tag: StartTag): void {
  if (CELLS.has(tag.name)) {
    tree.stack.clearTo('tr');
    tree.insert(tag);
    tree.mode = MODE.inCell;
    tree.formatting.mark();
  } else if (PARTS.has(tag.name)) {
    if (leaveRow(tree)) startInTableBody(tree, tag);
  } else startInTable(tree, tag);
}

export function endInRow(tree: TreeState, name: string): void {
  if (name === 'tr') leaveRow(tree);
  else if (name === 'table') {
    if (leaveRow(tree)) endInTableBody(tree, name);
  } else if (BODIES.has(name)) {
    if (!tree.stack.inTableScope(name) && !tree.stack.inTableScope('tr')) return;
    clearRow(tree);
    endInTableBody(tree, name);
  } else endInTable(tree, name);
}

function leaveRow(tree: TreeState): boolean {
  if (!tree.stack.inTableScope('tr')) return false;
  clearRow(tree);
  return true;
}

function clearRow(tree: TreeState): void {
  tree.stack.clearTo('tr');
  tree.stack.pop();
  tree.mode = MODE.inTableBody;
}

export function startInCell(tree: TreeState, tag: StartTag): void {
  if (!PARTS.has(tag.name)) {
    startInBody(tree, tag);
    return;
  }
  if (!tree.stack.inTableScope('td', 'th')) return;
  closeCell(tree);
  startInRow(tree, tag);
}

export function endInCell(tree: TreeState, name: string): void {
  const { stack } = tree;
  if (CELLS.has(name)) {
    if (!stack.inTableScope(name)) return;
    stack.closeImplied(IS.implied);
    stack.popThrough(name);
    tree.formatting.clearToMarker();
    tree.mode = MODE.inRow;
  } else if (STRUCTURE.has(name)) {
    if (!stack.inTableScope(name)) return;
    closeCell(tree);
    endInRow(tree, name);
  } else if (!IGNORED_ENDS.has(name)) endInBody(tree, name);
}

function closeCell(tree: TreeState): void {
  tree.stack.closeImplied(IS.implied);
  tree.stack.popThrough('td', 'th');
  tree.formatting.clearToMarker();
  tree.mode = MODE.inRow;
}

export function startInCaption(tree: TreeState, tag: StartTag): void {
  if (!PARTS.has(tag.name)) startInBody(tree, tag);
  else if (leaveCaption(tree)) startInTable(tree, tag);
}

export function endInCaption(tree: TreeState, name: string): void {
  if (name === 'caption') leaveCaption(tree);
  else if (name === 'table') {
    if (leaveCaption(tree)) endInTable(tree, name);
  } else if (!IGNORED_ENDS.has(name)) endInBody(tree, name);
}

function leaveCaption(tree: TreeState): boolean {
  if (!tree.stack.inTableScope('caption')) return false;
  tree.stack.closeImplied(IS.implied);
  tree.stack.popThrough('caption');
  tree.formatting.clearToMarker();
  tree.mode = MODE.inTable;
  return true;
}

/** @returns Whether the group was closed, so that the token goes to the table. */
export function leaveColumnGroup(tree: TreeState): boolean {
  const { current } = tree.stack;
  if (current.namespace !== HTML || current.name !== 'colgroup') return false;
  tree.stack.pop();
  tree.mode = MODE.inTable;
  return true;
}
