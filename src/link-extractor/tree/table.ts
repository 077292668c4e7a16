import { endInBody } from './body-ends.ts';
import { startInBody } from './body-starts.ts';
import { bitsOf, HTML, IS } from './elements.ts';
import { endOfTemplate, startOfHead } from './head.ts';
import { MODE, type StartTag, type TextRun, type TreeState } from './state.ts';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Elements that text must not stand in directly. */
const STRUCTURE = words('table tbody tfoot thead tr');
const IGNORED_ENDS = words('body caption col colgroup html tbody td tfoot th thead tr');

function isKind(name: string, bits: number): boolean {
  return (bitsOf(name, HTML) & bits) !== 0;
}

function isPart(tag: StartTag): boolean {
  return (tag.bits & IS.tablePart) !== 0;
}

export function startInTable(tree: TreeState, tag: StartTag): void {
  const { stack } = tree;
  const { name, bits } = tag;
  if ((bits & (IS.cell | IS.row)) !== 0) {
    stack.clearTo(IS.table);
    tree.imply('tbody');
    tree.mode = MODE.inTableBody;
    startInTableBody(tree, tag);
  } else if ((bits & IS.tableBody) !== 0) {
    stack.clearTo(IS.table);
    tree.insert(tag);
    tree.mode = MODE.inTableBody;
  } else if (name === 'caption') {
    stack.clearTo(IS.table);
    tree.formatting.mark();
    tree.insert(tag);
    tree.mode = MODE.inCaption;
  } else if (name === 'colgroup') {
    stack.clearTo(IS.table);
    tree.insert(tag);
    tree.mode = MODE.inColumnGroup;
  } else if (name === 'col') {
    stack.clearTo(IS.table);
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
      if (!stack.kindInScope(IS.table, IS.tableScope)) return;
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
    if (!tree.stack.kindInScope(IS.table, IS.tableScope)) return;
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
  if ((tag.bits & IS.row) !== 0) {
    stack.clearTo(IS.tableBody);
    tree.insert(tag);
    tree.mode = MODE.inRow;
  } else if ((tag.bits & IS.cell) !== 0) {
    stack.clearTo(IS.tableBody);
    tree.imply('tr');
    tree.mode = MODE.inRow;
    startInRow(tree, tag);
  } else if (isPart(tag)) {
    if (leaveTableBody(tree)) startInTable(tree, tag);
  } else startInTable(tree, tag);
}

export function endInTableBody(tree: TreeState, name: string): void {
  const { stack } = tree;
  if (isKind(name, IS.tableBody)) {
    if (!stack.inScope(name, IS.tableScope)) return;
    stack.clearTo(IS.tableBody);
    stack.pop();
    tree.mode = MODE.inTable;
  } else if (name === 'table') {
    if (leaveTableBody(tree)) endInTable(tree, name);
  } else endInTable(tree, name);
}

function leaveTableBody(tree: TreeState): boolean {
  const { stack } = tree;
  if (!stack.kindInScope(IS.tableBody, IS.tableScope)) return false;
  stack.clearTo(IS.tableBody);
  stack.pop();
  tree.mode = MODE.inTable;
  return true;
}

export function startInRow(tree: TreeState, tag: StartTag): void {
  if ((tag.bits & IS.cell) !== 0) {
    tree.stack.clearTo(IS.row);
    tree.insert(tag);
    tree.mode = MODE.inCell;
    tree.formatting.mark();
  } else if (isPart(tag)) {
    if (leaveRow(tree)) startInTableBody(tree, tag);
  } else startInTable(tree, tag);
}

export function endInRow(tree: TreeState, name: string): void {
  if (name === 'tr') leaveRow(tree);
  else if (name === 'table') {
    if (leaveRow(tree)) endInTableBody(tree, name);
  } else if (isKind(name, IS.tableBody)) {
    if (!tree.stack.inScope(name, IS.tableScope) && !tree.stack.kindInScope(IS.row, IS.tableScope)) return;
    clearRow(tree);
    endInTableBody(tree, name);
  } else endInTable(tree, name);
}

function leaveRow(tree: TreeState): boolean {
  if (!tree.stack.kindInScope(IS.row, IS.tableScope)) return false;
  clearRow(tree);
  return true;
}

function clearRow(tree: TreeState): void {
  tree.stack.clearTo(IS.row);
  tree.stack.pop();
  tree.mode = MODE.inTableBody;
}

export function startInCell(tree: TreeState, tag: StartTag): void {
  if (!isPart(tag)) {
    startInBody(tree, tag);
    return;
  }
  if (!tree.stack.kindInScope(IS.cell, IS.tableScope)) return;
  closeCell(tree);
  startInRow(tree, tag);
}

export function endInCell(tree: TreeState, name: string): void {
  const { stack } = tree;
  if (isKind(name, IS.cell)) {
    if (!stack.inScope(name, IS.tableScope)) return;
    stack.closeImplied(IS.implied);
    stack.popThrough(name);
    tree.formatting.clearToMarker();
    tree.mode = MODE.inRow;
  } else if (STRUCTURE.has(name)) {
    if (!stack.inScope(name, IS.tableScope)) return;
    closeCell(tree);
    endInRow(tree, name);
  } else if (!IGNORED_ENDS.has(name)) endInBody(tree, name);
}

function closeCell(tree: TreeState): void {
  tree.stack.closeImplied(IS.implied);
  tree.stack.popThroughKind(IS.cell);
  tree.formatting.clearToMarker();
  tree.mode = MODE.inRow;
}

export function startInCaption(tree: TreeState, tag: StartTag): void {
  if (!isPart(tag)) startInBody(tree, tag);
  else if (leaveCaption(tree)) startInTable(tree, tag);
}

export function endInCaption(tree: TreeState, name: string): void {
  if (name === 'caption') leaveCaption(tree);
  else if (name === 'table') {
    if (leaveCaption(tree)) endInTable(tree, name);
  } else if (!IGNORED_ENDS.has(name)) endInBody(tree, name);
}

function leaveCaption(tree: TreeState): boolean {
  if (!tree.stack.inScope('caption', IS.tableScope)) return false;
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
