// A page worker that does what the page's address asks for: /?do=hang and so on; else it tells all that it sees.
import { threadId } from 'node:worker_threads';

const forever = new Promise(() => {});

let earlier;

const DEEDS = {
  // How much is left of the document of the page before.
  keep: (page) => {
    const left = earlier?.$('*').length;
    earlier = page;
    return { own: page.$('*').length, left };
  },
  'keep-throw': (page) => {
    DEEDS.keep(page);
    throw new Error('kept');
  },
  'keep-reject': async (page) => DEEDS['keep-throw'](page),
  'keep-function': (page) => {
    DEEDS.keep(page);
    return () => {};
  },
  throw: () => {
    throw Object.assign(new RangeError('too wide'), { code: 'E_WIDE' });
  },
  reject: () => Promise.reject(new Error('not today')),
  'throw-text': () => {
    throw 'only words';
  },
  hang: () => {
    for (;;);
  },
  wait: () => forever,
  exit: () => process.exit(7),
  uncaught: () => {
    setImmediate(() => {
      throw new Error('nobody caught this');
    });
    return forever;
  },
  unhandled: () => {
    void Promise.reject(new Error('nobody handled this'));
    return forever;
  },
  memory: () => {
    const kept = [];
    for (;;) kept.push({ number: kept.length, list: [kept.length] });
  },
  push: () => {
    const kept = [];
    for (let number = 0; ; number++) kept.push(number);
  },
  map: () => {
    const kept = new Map();
    for (let number = 0; ; number++) kept.set(number, number);
  },
  // Keeps half of what the thread may have, and lets go of more than the other half, but late.
  garbage: () => {
    const kept = new Array(2_500_000).fill(1);
    const ring = [];
    for (let made = 0; made < 8_000_000; made++) ring[made % 100_000] = { made, list: [made, made] };
    return kept.length + ring.length;
  },
  function: () => ({ tell: () => 'a function' }),
  selection: (page) => page.$('a'),
  undefined: () => undefined,
  rich: () => ({ map: new Map([['a', new Set([1])]]), date: new Date(0), bytes: Buffer.from('bytes'), big: 1n }),
  views: () => ({
    floats: new Float64Array([1.5, -0]),
    part: new Uint8Array(100).fill(7).subarray(10, 14),
    data: new DataView(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2),
    bytes: Buffer.from('bytes'),
    none: new Uint16Array(0),
  }),
  body: async ({ body }) => ({
    digest: Buffer.from(await crypto.subtle.digest('SHA-256', body)).toString('hex'),
    response: await new Response(body).text(),
    memory: body.buffer,
    isBuffer: Buffer.isBuffer(body),
  }),
  'body-twice': (page) => {
    const { text, body } = page;
    body.fill(0x20);
    return { isSame: body === page.body, text, isBlank: page.body.every((byte) => byte === 0x20) };
  },
  scribble: (page) => page.body.fill(0x20).length,
  // Something that goes on after the answer and breaks the thread when it has no page any more.
  late: (page) => {
    void fetch(new URL('/gate', page.url)).then(() => {
      throw new Error('too late');
    });
    return 'answered';
  },
  gate: async (page) => {
    const response = await fetch(new URL(`/gate?of=${page.url.split('n=')[1]}`, page.url));
    return { gate: await response.text(), thread: threadId };
  },
};

export default function handle(page) {
  const deed = DEEDS[new URL(page.url).searchParams.get('do')];
  return deed === undefined ? surfaceOf(page) : deed(page);
}

/** All of a page that can be read, the document by what it says. */
export function surfaceOf(page) {
  return {
    url: page.url,
    finalUrl: page.finalUrl,
    redirects: page.redirects,
    status: page.status,
    headers: page.headers,
    contentType: page.contentType,
    body: Buffer.from(page.body),
    stream: page.stream,
    text: page.text,
    encoding: page.encoding,
    heading: page.$('h1').text(),
    title: page.title,
    links: page.links,
    depth: page.depth,
    referrer: page.referrer,
    canonical: page.canonical,
    directives: page.directives,
    fingerprint: page.fingerprint,
    fetchedAt: page.fetchedAt,
    timings: page.timings,
    bytes: page.bytes,
    truncated: page.truncated,
  };
}
