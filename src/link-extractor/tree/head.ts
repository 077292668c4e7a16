import { IS } from './elements.ts';
import { MODE, type StartTag, type TreeState } from './state.ts';

/**
 * The rules for start tags in the head that other modes use too.
 * @returns Whether the tag is one of the head's.
 */
export function startOfHead(tree: TreeState, tag: StartTag): boolean {
  switch (tag.name) {
    case 'base':
    case 'basefont':
    case 'bgsound':
    case 'link':
    case 'meta':
    case 'title':
    case 'noframes':
    case 'style':
    case 'script':
      tree.insertEmpty(tag);
      return true;
    case 'template':
      tree.insert(tag);
      tree.formatting.mark();
      tree.framesetOk = false;
      tree.mode = MODE.inTemplate;
      tree.templateModes.push(MODE.inTemplate);
      return true;
    default:
      return false;
  }
}

export function endOfTemplate(tree: TreeState): void {
  if (tree.stack.templates === 0) return;
  tree.stack.closeImplied(IS.impliedAll);
  tree.stack.popThrough('template');
  tree.formatting.clearToMarker();
  tree.templateModes.pop();
  tree.resetMode();
}

/** From the start of the document to the start of the body; `false` where the tag begins the body. */
export function startBeforeBody(tree: TreeState, tag: StartTag): boolean {
  for (;;) {
    switch (tree.mode) {
      case MODE.initial:
        tree.mode = MODE.beforeHtml;
        break;
      case MODE.beforeHtml:
        tree.mode = MODE.beforeHead;
        if (tag.name === 'html') {
          tree.insert(tag);
          return true;
        }
        tree.imply('html');
        break;
      case MODE.beforeHead:
        if (tag.name === 'html') return adoptHtml(tree);
        tree.hasHead = true;
        tree.mode = MODE.inHead;
        if (tag.name === 'head') {
          tree.insert(tag);
          return true;
        }
        tree.imply('head');
        break;
      case MODE.inHead:
        if (tag.name === 'html') return adoptHtml(tree);
        if (tag.name === 'head' || startOfHead(tree, tag)) return true;
        if (tag.name === 'noscript') {
          tree.insert(tag);
          tree.mode = MODE.inHeadNoscript;
          return true;
        }
        leaveHead(tree);
        break;
      case MODE.inHeadNoscript:
        if (tag.name === 'html') return adoptHtml(tree);
        if (tag.name === 'noscript' || tag.name === 'head') return true;
        if (NOSCRIPT.has(tag.name)) return startOfHead(tree, tag);
        leaveNoscript(tree);
        break;
      case MODE.afterHead:
        if (tag.name === 'html') return adoptHtml(tree);
        if (tag.name === 'head' || startOfHead(tree, tag)) return true;
        return startAfterHead(tree, tag);
      default:
        return false;
    }
  }
}

const NOSCRIPT: ReadonlySet<string> = new Set(['basefont', 'bgsound', 'link', 'meta', 'noframes', 'style']);

function startAfterHead(tree: TreeState, tag: StartTag): boolean {
  if (tag.name === 'body') {
    tree.insert(tag);
    tree.hasBody = true;
    tree.framesetOk = false;
    tree.mode = MODE.inBody;
    return true;
  }
  if (tag.name === 'frameset') {
    tree.insert(tag);
    tree.mode = MODE.inFrameset;
    return true;
  }
  beginBody(tree);
  return false;
}

/** `<html>` once more: its attributes count, where the first had none of that name. */
export function adoptHtml(tree: TreeState): true {
  if (tree.stack.templates === 0) tree.adoptedBy = 'html';
  return true;
}

function beginBody(tree: TreeState): void {
  tree.imply('body');
  tree.hasBody = true;
  tree.mode = MODE.inBody;
}

function leaveHead(tree: TreeState): void {
  tree.stack.pop();
  tree.mode = MODE.afterHead;
}

function leaveNoscript(tree: TreeState): void {
  tree.stack.pop();
  tree.mode = MODE.inHead;
}

/** Brings the mode to "in body", for what can stand nowhere else. */
export function enterBody(tree: TreeState): void {
  for (;;) {
    switch (tree.mode) {
      case MODE.initial:
        tree.mode = MODE.beforeHtml;
        break;
      case MODE.beforeHtml:
        tree.imply('html');
        tree.mode = MODE.beforeHead;
        break;
      case MODE.beforeHead:
        tree.imply('head');
        tree.hasHead = true;
        tree.mode = MODE.inHead;
        break;
      case MODE.inHead:
        leaveHead(tree);
        break;
      case MODE.inHeadNoscript:
        leaveNoscript(tree);
        break;
      case MODE.afterHead:
        beginBody(tree);
        return;
      default:
        return;
    }
  }
}

/** The rules for end tags before the body; `false` where the tag begins the body. */
export function endBeforeBody(tree: TreeState, name: string): boolean {
  const { mode } = tree;
  if (mode > MODE.afterHead) return false;
  if (name === 'template' && mode >= MODE.inHead && mode !== MODE.inHeadNoscript) {
    endOfTemplate(tree);
    return true;
  }
  if (mode === MODE.inHeadNoscript) {
    if (name === 'noscript') leaveNoscript(tree);
    if (name !== 'br') return true;
    enterBody(tree);
    return false;
  }
  if (name === 'head' && mode <= MODE.inHead) {
    if (mode !== MODE.inHead) enterHead(tree);
    leaveHead(tree);
    return true;
  }
  if (name !== 'body' && name !== 'html' && name !== 'br') {
    // Anything but a document type ends the initial mode.
    if (mode === MODE.initial) tree.mode = MODE.beforeHtml;
    return true;
  }
  enterBody(tree);
  return false;
}

function enterHead(tree: TreeState): void {
  if (tree.mode < MODE.beforeHead) tree.imply('html');
  tree.imply('head');
  tree.hasHead = true;
  tree.mode = MODE.inHead;
}
