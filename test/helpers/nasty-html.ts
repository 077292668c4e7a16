/** A generator of numbers that gives the same ones for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const words = (list: string): string[] => list.split(' ');

/** Tags that matter to the structure of a document, likelier the oftener they are named. */
const TAGS = words(
  'a a a a a a area b i em font nobr code p p p div div span ul li dl dd dt table table tr td th tbody thead tfoot caption ' +
    'col colgroup select option optgroup hr input button textarea template template svg svg math foreignObject desc title ' +
    'title mi mo mtext annotation-xml mglyph malignmark style script noscript iframe xmp noembed noframes plaintext ' +
    'frameset frame html head body base base link link meta img image form form object applet marquee ruby rb rt rp rtc ' +
    'h1 h2 pre listing br center embed video audio source track use blockquote q ins nav section keygen x-y g path ' +
    'feImage summary details address article big tt strong u s small strike sub sup var dialog main label menu bgsound',
);
const RARE = new Set(words('plaintext frameset frame xmp noembed noframes listing'));

const URLS = [
  '/a',
  'b',
  '../c?x=1&amp;y=2',
  '#f',
  '',
  '?q',
  'http://other.test/d',
  '//e.test/f',
  'g&copy=1',
  ' h ',
  'javascript:1',
  'mailto:x',
];
const ATTRIBUTES = words(
  'href href href href src src srcset data poster action formaction background cite longdesc xlink:href style rel type name ' +
    'content http-equiv method formmethod form encoding color size class id imagesrcset srcdoc profile manifest archive codebase',
);
const VALUES: Readonly<Record<string, readonly string[]>> = {
  srcset: ['/s1 1x, /s2 2x', '/s3', 'a,b 2w', ','],
  imagesrcset: ['/m1 1x, /m2 2x'],
  style: ['color:red', 'background:url(/st)', "x:url('/su')", 'a:url(#no)'],
  rel: ['nofollow', 'next', 'stylesheet', 'canonical', 'alternate', 'pingback', 'NoFollow external', ''],
  type: ['hidden', 'image', 'submit', 'text/css', 'reset', 'button', 'text/html'],
  name: ['robots', 'description', 'x'],
  content: ['0;url=/r', 'nofollow', '5', 'none', '1;/r2'],
  'http-equiv': ['refresh', 'REFRESH', 'content-type'],
  method: ['get', 'post', 'dialog', 'GET'],
  formmethod: ['get', 'post'],
  form: ['f'],
  encoding: ['text/html', 'application/xhtml+xml', 'x'],
  color: ['red'],
  size: ['1'],
  class: ['x', 'y'],
  id: ['1', '2'],
  srcdoc: ['<a href=/in>', '&lt;a href=&quot;/in2&quot;>', '<base href=/b/><a href=in3>'],
};
const TEXTS = [
  'text',
  ' ',
  '\n',
  'x',
  '&amp;',
  '&#32;',
  '<',
  '</>',
  '</ x>',
  '<!>',
  '<?pi>',
  '<!---->',
  '<!-- c -->',
  '<!--<a href=/no1>-->',
  '<!-->',
  '<!--->',
  '<!-- x --!>',
  '<!-- -- > -->',
  '<![CDATA[<a href=/cd>]]>',
  '<![CDATA[ x ]]>',
  ']]>',
  '<!doctype html>',
  '\0',
  '\0 ',
  '-->',
  '<3',
  '<script>',
  '</script>',
  '<!--<script>',
  '<style>',
  '</style >',
  '<title>t',
  '</title>',
  '</a',
  '">',
  "'>",
  '=',
  '/>',
  '\t',
  '\f',
  '\r\n',
  'é',
];

/** A document that breaks rules as often as it keeps them. */
export function nastyDocument(next: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  let out = next() < 0.5 ? '<!DOCTYPE html>' : '';
  // Leads the scan to the tree builder, and changes nothing.
  if (next() < 0.4) out += '<template><col></template>';
  const open: string[] = [];
  const local = Array.from({ length: 3 + Math.floor(next() * 10) }, () => pick(TAGS));
  const length = 2 + Math.floor(next() * next() * 60);
  for (let n = 0; n < length; n++) {
    const chance = next();
    if (chance < 0.55) {
      const tag = next() < 0.6 ? pick(local) : pick(TAGS);
      if (RARE.has(tag) && next() < 0.6) continue;
      out += startTag(tag, next, pick);
      open.push(tag);
    } else if (chance < 0.8) {
      const tag = next() < 0.7 && open.length > 0 ? (next() < 0.7 ? open.pop() : pick(open)) : pick(TAGS);
      out += `</${tag}${next() < 0.05 ? ' x=">"' : ''}>`;
    } else out += pick(TEXTS);
  }
  return next() < 0.3 ? mutated(out, next, pick) : out;
}

function startTag(tag: string, next: () => number, pick: <T>(list: readonly T[]) => T): string {
  let out = `<${next() < 0.1 ? tag.toUpperCase() : tag}`;
  const count = Math.floor(next() * 3.2);
  for (let n = 0; n < count; n++) {
    const name = pick(ATTRIBUTES);
    const value = pick(VALUES[name] ?? URLS);
    const style = next();
    if (style < 0.7) out += ` ${name}="${value}"`;
    else if (style < 0.8) out += ` ${name}='${value.replaceAll("'", '')}'`;
    else if (style < 0.9) out += ` ${name}=${value.replace(/[\s>"']/g, '')}`;
    else if (style < 0.95) out += ` ${name} = "${value}"`;
    else out += ` ${name.toUpperCase()}`;
  }
  return `${out}${next() < 0.1 ? '/' : ''}>`;
}

const MARKS = ['<', '>', '/', '"', "'", '=', ' ', '&', '!', '-', '\0', '</', '<!--', '-->', 'a', '?', '\n'];

/** Characters lost, repeated, added; the end cut off. */
function mutated(text: string, next: () => number, pick: <T>(list: readonly T[]) => T): string {
  const count = 1 + Math.floor(next() * 4);
  for (let n = 0; n < count; n++) {
    const at = Math.floor(next() * text.length);
    const kind = next();
    if (kind < 0.3) text = text.slice(0, at) + text.slice(at + 1 + Math.floor(next() * 3));
    else if (kind < 0.7) text = text.slice(0, at) + pick(MARKS) + text.slice(at);
    else if (kind < 0.85) text = text.slice(0, at) + text.slice(Math.max(0, at - 10));
    else text = text.slice(0, Math.max(at, text.length - 40));
  }
  return text;
}
