import { type Fault, faultsOf } from './fault.ts';
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  field,
  frame,
  type Http2Peer,
  hpackNumber,
  KEPT,
  keptField,
  overHttp2,
  PADDED,
  setting,
  status,
  uint32,
} from './http2-peer.ts';
import { type Bytes, head, noiseFlood, page, toBytes } from './peer.ts';

/** A setting that says nothing new: how much may be sent unasked. */
const SETTING: Buffer = setting(4, 65_535);

type Row = readonly [name: string, does: string, act: (peer: Http2Peer) => void];

const rows = (all: readonly Row[]): readonly Fault[] =>
  faultsOf(
    'http2',
    all.map(([name, does, act]) => [name, does, overHttp2(act)]),
  );

/** Of so many frames a flood is made, over and over: to make each takes longer than to send it. */
const BLOCK = 500;

/** Frames without end, once the request is there. */
const without = (make: (stream: number, index: number) => Bytes) => (http2: Http2Peer) => {
  const block = (from: number): Buffer =>
    toBytes(Array.from({ length: BLOCK }, (_, i) => make(http2.stream, from + i)));
  const [first, others] = [block(0), block(BLOCK)];
  http2.peer.flood((index) => (index === 0 ? first : others));
};

/** The same behind the head of an answer. */
const behindHead = (make: (stream: number, index: number) => Bytes) => (http2: Http2Peer) =>
  without(make)(http2.head());

const hints = (stream: number, ...fields: readonly Bytes[]): Buffer =>
  frame('headers', END_HEADERS, stream, status(103), ...fields);

/** Frames that say nothing, for as long as somebody reads. */
const FLOODS: readonly Fault[] = rows([
  ['http2-hints-endless', 'Sends 103 over and over, and no answer.', without((stream) => hints(stream))],
  [
    'http2-hints-large',
    'Sends 103 with 4 KiB of links over and over.',
    without((stream) => hints(stream, field('link', 'x'.repeat(4000)))),
  ],
  [
    'http2-hints-compressed',
    'Sends 103 over and over in 12 KB that stand for 48 MB of fields.',
    without((stream, i) => hints(stream, i === 0 ? keptField('x', 'y'.repeat(4000)) : '', Buffer.alloc(12_000, KEPT))),
  ],
  [
    'http2-priority-endless',
    'Sends priorities without end.',
    without((_, i) => frame('priority', 0, 3 + 2 * (i % 1000), uint32(0), '\x01')),
  ],
  ['http2-ping-endless', 'Sends pings without end.', without(() => frame('ping', 0, 0, Buffer.alloc(8)))],
  [
    'http2-ping-answers',
    'Answers pings without end that nobody sent.',
    without(() => frame('ping', ACK, 0, Buffer.alloc(8))),
  ],
  ['http2-settings-empty', 'Sends settings without end that set nothing.', behindHead(() => frame('settings', 0, 0))],
  [
    'http2-settings-endless',
    'Sends settings without end, thirty at a time.',
    without(() => frame('settings', 0, 0, ...Array<Buffer>(30).fill(SETTING))),
  ],
  ['http2-settings-answers', 'Confirms settings without end.', without(() => frame('settings', ACK, 0))],
  ['http2-data-empty', 'Sends a body without end that holds nothing.', behindHead((id) => frame('data', 0, id))],
  [
    'http2-data-padding',
    'Sends a body without end that is padding.',
    behindHead((id) => frame('data', PADDED, id, '\xff', Buffer.alloc(255))),
  ],
  [
    'http2-data-one-byte',
    'Sends a body without end, a byte in each frame.',
    behindHead((id) => frame('data', 0, id, 'x')),
  ],
  [
    'http2-data-one-byte-padded',
    'Sends a body without end, a byte and 255 of padding in each frame.',
    behindHead((id) => frame('data', PADDED, id, '\xffx', Buffer.alloc(255))),
  ],
  [
    'http2-continuation-endless',
    'Goes on with a head without end.',
    without((id, i) =>
      i === 0 ? frame('headers', 0, id, status(200)) : frame('continuation', 0, id, field('x', `${i}`)),
    ),
  ],
  [
    'http2-continuation-empty',
    'Goes on with a head without end, by nothing at all.',
    without((id, i) => (i === 0 ? frame('headers', 0, id, status(200)) : frame('continuation', 0, id))),
  ],
  [
    'http2-reset-endless',
    'Resets streams without end that were never opened.',
    without((id, i) => frame('reset', 0, id + 2 + 2 * (i % 1000), uint32(8))),
  ],
  ['http2-window-endless', 'Allows a byte more without end.', without(() => frame('window', 0, 0, uint32(1)))],
  [
    'http2-window-in-body',
    'Allows a byte more without end, in the middle of a body.',
    behindHead((id) => frame('window', 0, id, uint32(1))),
  ],
  [
    'http2-push-endless',
    'Pushes pages without end that nobody asked for.',
    without((id, i) => frame('push', END_HEADERS, id, uint32(2 + 2 * i), '\x82\x87\x84', field(':authority', 'a'))),
  ],
  [
    'http2-goaway-endless',
    'Says goodbye without end.',
    without(() => frame('goAway', 0, 0, uint32(0x7fff_ffff), uint32(0), Buffer.alloc(1000))),
  ],
  ['http2-unknown-endless', 'Sends frames without end that nobody knows.', without((id) => frame('unknown', 0, id))],
  [
    'http2-origin-endless',
    'Names other origins without end.',
    without((_, i) => frame('origin', 0, 0, '\0\x14https://', String(i).padStart(12, '0'))),
  ],
  [
    'http2-alternative-endless',
    'Names other servers without end.',
    without((id) => frame('alternative', 0, id, '\0\0h3=":1"')),
  ],
  [
    'http2-trailers-endless',
    'Sends trailers without end.',
    behindHead((id) => frame('headers', END_HEADERS, id, field('x', 'y'))),
  ],
  [
    'http2-noise',
    'Sends bytes without meaning, without end.',
    (http2) => http2.peer.flood(noiseFlood(http2.peer.random)),
  ],
]);

/** Frames that break the rules. */
const BROKEN: readonly Fault[] = rows([
  [
    'http2-head-compressed',
    'Has a head of 12 KB that stands for 48 MB of fields.',
    (http2) => http2.head(keptField('x', 'y'.repeat(4000)), Buffer.alloc(12_000, KEPT)),
  ],
  ['http2-head-fields', 'Has a head of 9,000 fields.', (http2) => http2.head(Buffer.alloc(9000, 0x90))],
  ['http2-head-garbage', 'Has a head that can not be decompressed.', (http2) => http2.head(Buffer.alloc(100, 0xff))],
  [
    'http2-head-number',
    'Has a number in its head that never ends.',
    (http2) => http2.head('\xff', Buffer.alloc(1000, 0x80)),
  ],
  [
    'http2-table-huge',
    'Wants a thousand million bytes to be kept.',
    ({ peer, stream }) => peer.send(frame('headers', END_HEADERS, stream, hpackNumber(2 ** 30, 5, 0x20), status(200))),
  ],
  [
    'http2-status-missing',
    'Answers without a status.',
    ({ peer, stream }) => peer.send(frame('headers', END_HEADERS | END_STREAM, stream, field('a', 'b'))),
  ],
  [
    'http2-status-switch',
    'Answers with 101.',
    ({ peer, stream }) => peer.send(frame('headers', END_HEADERS, stream, status(101))),
  ],
  ['http2-names-upper-case', 'Has names of fields in upper case.', (http2) => http2.head(field('X-Upper', 'b'))],
  [
    'http2-settings-huge',
    'Sends 2,000 settings at once.',
    (http2) => http2.send(frame('settings', 0, 0, ...Array<Buffer>(2000).fill(SETTING))),
  ],
  ['http2-frame-huge', 'Sends a frame of 100,000 bytes.', (http2) => http2.data(Buffer.alloc(100_000))],
  ['http2-data-early', 'Sends a body before its head.', (http2) => http2.data('early')],
  [
    'http2-data-late',
    'Sends more of a body that has ended.',
    (http2) => http2.head().data(page('ended'), END_STREAM).data('more'),
  ],
  [
    'http2-data-unasked',
    'Sends more of a body than it may.',
    (http2) => http2.head().peer.flood(() => frame('data', 0, http2.stream, Buffer.alloc(16_000))),
  ],
  [
    'http2-stream-wrong',
    'Answers what was not asked.',
    (http2) => http2.send(frame('headers', END_HEADERS, 2, status(200))),
  ],
  [
    'http2-window-too-wide',
    'Allows more than there can be.',
    (http2) => http2.send(frame('window', 0, 0, uint32(0x7fff_ffff))),
  ],
  ['http2-window-zero', 'Allows nothing more.', (http2) => http2.send(frame('window', 0, 0, uint32(0)))],
  [
    'http2-length-short',
    'Sends more than it said.',
    (http2) => http2.head(field('content-length', '5')).data('more than five', END_STREAM),
  ],
  [
    'http2-length-long',
    'Sends less than it said.',
    (http2) => http2.head(field('content-length', '500')).data('less', END_STREAM),
  ],
  ['http2-text', 'Answers in HTTP/1.', (http2) => http2.send(head('200 OK', 'Content-Length: 0'))],
]);

/** Silence, and streams and connections that end too early. */
const BREAKS: readonly Fault[] = [
  ...rows([
    ['http2-silence', 'Never answers.', () => {}],
    ['http2-silence-in-head', 'Falls silent in the middle of a frame.', (http2) => http2.send('\0\x10')],
    ['http2-silence-in-body', 'Falls silent in the middle of the body.', (http2) => http2.head().data('half')],
    [
      'http2-reset-stream',
      'Resets each stream.',
      ({ peer, stream }) => peer.send(frame('reset', 0, stream, uint32(2))),
    ],
    [
      'http2-reset-in-body',
      'Resets the stream in the middle of the body.',
      (http2) =>
        http2
          .head()
          .data('half')
          .send(frame('reset', 0, http2.stream, uint32(2))),
    ],
    ['http2-close', 'Closes the connection.', (http2) => http2.peer.end()],
    [
      'http2-close-in-body',
      'Closes the connection in the middle of the body.',
      (http2) => http2.head().data('half').peer.end(),
    ],
    [
      'http2-goodbye',
      'Says goodbye, neither answers nor closes.',
      (http2) => http2.send(frame('goAway', 0, 0, uint32(0), uint32(0))),
    ],
    [
      'http2-goodbye-after-answer',
      'Says goodbye behind each answer, and never closes.',
      (http2) =>
        http2
          .head()
          .data(page('goodbye'), END_STREAM)
          .send(frame('goAway', 0, 0, uint32(http2.stream), uint32(0))),
    ],
    [
      'http2-drip',
      'Sends frames one byte at a time.',
      (http2) => http2.peer.drip(Buffer.concat(Array<Buffer>(100).fill(hints(http2.stream)))),
    ],
  ]),
  ...faultsOf('http2', [
    ['http2-silence-from-start', 'Chooses HTTP/2, and never says a word of it.', overHttp2(() => {}, false)],
    [
      'http2-no-streams',
      'Lets nobody ask.',
      overHttp2(({ peer }) => void peer.send(frame('settings', 0, 0, setting(3, 0)))),
    ],
  ]),
];

export const HTTP2_FAULTS: readonly Fault[] = [...FLOODS, ...BROKEN, ...BREAKS];
