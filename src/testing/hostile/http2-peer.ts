import type { Act } from './fault.ts';
import { answer, type Bytes, type Peer, page, toBytes } from './peer.ts';
import { headReader } from './requests.ts';

/** Types of frames (RFC 9113, 6; RFC 7838, 4; RFC 8336, 2), and one that nobody knows. */
const TYPES = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  reset: 0x3,
  settings: 0x4,
  push: 0x5,
  ping: 0x6,
  goAway: 0x7,
  window: 0x8,
  continuation: 0x9,
  alternative: 0xa,
  origin: 0xc,
  unknown: 0x77,
} as const;

export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;

/** One frame, whether there is such a one or not. */
export function frame(type: keyof typeof TYPES, flags: number, stream: number, ...payload: readonly Bytes[]): Buffer {
  const bytes = toBytes(payload);
  const start = Buffer.alloc(HEAD_BYTES);
  start.writeUIntBE(bytes.length, 0, 3);
  start[3] = TYPES[type];
  start[4] = flags;
  start.writeUInt32BE(stream, 5);
  return toBytes([start, bytes]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** One setting (RFC 9113, 6.5.1). */
export function setting(id: number, value: number): Buffer {
  return toBytes([Uint8Array.of(0, id), uint32(value)]);
}

/** A number of HPACK (RFC 7541, 5.1) behind the first bits of its first byte. */
export function hpackNumber(value: number, bits: number, first: number): Buffer {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.of(first | value);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.of(...bytes, rest);
}

const text = (value: string): Buffer => toBytes([hpackNumber(value.length, 7, 0), value]);

/** A field that stands for itself. */
export const field = (name: string, value: string): Buffer => toBytes([Uint8Array.of(0), text(name), text(value)]);

/** A field that the client keeps, to be named by one byte from then on: {@link KEPT}. */
export const keptField = (name: string, value: string): Buffer =>
  toBytes([Uint8Array.of(0x40), text(name), text(value)]);

export const KEPT = 0xbe;

export const status = (code: number): Buffer => toBytes([Uint8Array.of(8), text(String(code))]);

/** Whoever asked over HTTP/2. */
export class Http2Peer {
  /** The stream of the request. */
  readonly stream: number;
  readonly peer: Peer;

  constructor(peer: Peer, stream: number) {
    this.peer = peer;
    this.stream = stream;
  }

  send(...frames: readonly Bytes[]): this {
    this.peer.send(...frames);
    return this;
  }

  /** The head of an answer. */
  head(...fields: readonly Bytes[]): this {
    return this.send(
      frame('headers', END_HEADERS, this.stream, status(200), field('content-type', 'text/html'), ...fields),
    );
  }

  /** A part of the body. */
  data(body: Bytes, flags = 0): this {
    return this.send(frame('data', flags, this.stream, body));
  }
}

/** What is done to who asks; `greets` says whether the server says first what it should. */
export function overHttp2(act: (peer: Http2Peer) => void, greets = true): Act {
  return (outer) =>
    outer.secure({ protocols: ['h2'] }, (peer, socket) => {
      if (socket.alpnProtocol !== 'h2') {
        peer.hear(
          headReader(
            () => peer.send(answer(page('old'))),
            () => peer.end(),
          ),
        );
        return;
      }
      if (greets) peer.send(frame('settings', 0, 0));
      peer.hear(requestReader((stream) => act(new Http2Peer(peer, stream))));
    });
}

/** Calls with the stream of each request. */
function requestReader(onRequest: (stream: number) => void): (data: Buffer) => void {
  let bytes: Buffer = Buffer.alloc(0);
  let skip = PREFACE_BYTES;
  return (data) => {
    bytes = Buffer.concat([bytes, data]);
    for (;;) {
      const skipped = Math.min(skip, bytes.length);
      skip -= skipped;
      bytes = bytes.subarray(skipped);
      if (skip > 0 || bytes.length < HEAD_BYTES) return;
      skip = HEAD_BYTES + bytes.readUIntBE(0, 3);
      if (bytes[3] === TYPES.headers) onRequest(bytes.readUInt32BE(5));
    }
  };
}
