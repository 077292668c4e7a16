import { HTML, IS, MATHML, type OpenElement } from './elements.ts';
import type { StartTag, TreeState } from './state.ts';

const BREAKOUTS: ReadonlySet<string> = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
    'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
);

/** Whether what comes next is content of SVG or MathML, rather than of HTML within them. */
export function isInForeign(tree: TreeState): boolean {
  const current: OpenElement | undefined = tree.stack.items.at(-1);
  return current !== undefined && current.namespace !== HTML && !isPoint(current);
}

/** Whether the rules for foreign content apply to a start tag. */
export function isForeignStart(tree: TreeState, name: string): boolean {
  const current: OpenElement | undefined = tree.stack.items.at(-1);
  if (current === undefined || current.namespace === HTML) return false;
  if (name === 'svg' && current.name === 'annotation-xml' && current.namespace === MATHML) return false;
  if (!isPoint(current)) return true;
  return (name === 'mglyph' || name === 'malignmark') && (current.bits & IS.htmlPoint) === 0;
}

/** @returns Whether the tag was used up; `false` where it ends the foreign content and goes to the rules of HTML. */
export function startInForeign(tree: TreeState, tag: StartTag): boolean {
  if (breaksOut(tree, tag)) {
    leaveForeign(tree);
    return false;
  }
  const { namespace } = tree.stack.current;
  if (tag.selfClosing) tree.insertEmpty(tag, namespace);
  else tree.insert(tag, namespace);
  return true;
}

/** The same for an end tag, where the current element is foreign, HTML within it or not. */
export function endInForeign(tree: TreeState, name: string): boolean {
  if (name === 'p' || name === 'br') {
    leaveForeign(tree);
    return false;
  }
  const { items } = tree.stack;
  for (let at = items.length - 1; at > 0; at--) {
    tree.stack.budget--;
    const element = items[at] as OpenElement;
    if (element.namespace === HTML) return false;
    if (element.name === name) {
      tree.stack.shorten(at);
      return true;
    }
    if (tree.stack.budget <= 0 && items.length - at > MOST_STEPS) return true;
  }
  return false;
}

const MOST_STEPS = 16;

function breaksOut(tree: TreeState, tag: StartTag): boolean {
  if (BREAKOUTS.has(tag.name)) return true;
  if (tag.name !== 'font') return false;
  return /(?:^|\0\0)(?:color|face|size)\0/.test(tree.signatureAt(tag.attributes));
}

function leaveForeign(tree: TreeState): void {
  while (isInForeign(tree)) tree.stack.pop();
}

function isPoint(element: OpenElement): boolean {
  return (element.bits & (IS.htmlPoint | IS.textPoint)) !== 0;
}
