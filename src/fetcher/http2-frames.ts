/** Types of frames (RFC 9113, 6) that are told apart here. */
export const FRAME = { data: 0x0, headers: 0x1, reset: 0x3, push: 0x5, goAway: 0x7, continuation: 0x9 } as const;

const PADDED = 0x8;
const HEAD_BYTES = 9;

/** As much of a payload as is looked at: that of GOAWAY up to its error code. */
const MOST_PAYLOAD_BYTES = 8;

/** One frame, as far as it was looked at; the same object for each, so that a flood of them costs little. */
export interface Frame {
  readonly type: number;
  readonly stream: number;
  /** Bytes that it takes in all. */
  readonly bytes: number;
  /** Bytes of a body in it. */
  readonly bodyBytes: number;
  /** Of GOAWAY; 0 in all others. */
  readonly errorCode: number;
}

/** Finds the frames in one direction of an HTTP/2 connection, however its bytes are cut, and keeps none of them. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #frame = { type: 0, stream: 0, bytes: 0, bodyBytes: 0, errorCode: 0 };
  readonly #head: Buffer = Buffer.alloc(HEAD_BYTES + MOST_PAYLOAD_BYTES);
  /** Bytes of `#head` that are in, and that are needed. */
  #have = 0;
  #need = HEAD_BYTES;
  /** Bytes that are passed over. */
  #skip: number;

  /** @param prefaceBytes - What stands before the first frame. */
  constructor(onFrame: (frame: Frame) => void, prefaceBytes = 0) {
    this.#onFrame = onFrame;
    this.#skip = prefaceBytes;
  }

  read(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at);
        this.#skip -= skipped;
        at += skipped;
        continue;
      }
      this.#head[this.#have++] = bytes[at++] as number;
      if (this.#have === HEAD_BYTES) this.#need = HEAD_BYTES + this.#payloadNeeded();
      if (this.#have === this.#need) this.#found();
    }
  }

  #payloadNeeded(): number {
    const length = this.#head.readUIntBE(0, 3);
    const type = this.#head[3];
    if (type === FRAME.goAway) return Math.min(length, MOST_PAYLOAD_BYTES);
    return type === FRAME.data && this.#isPadded() ? Math.min(length, 1) : 0;
  }

  #isPadded(): boolean {
    return ((this.#head[4] as number) & PADDED) !== 0;
  }

  #found(): void {
    const head = this.#head;
    const frame = this.#frame;
    const length = head.readUIntBE(0, 3);
    const padding = this.#isPadded() ? 1 + (head[HEAD_BYTES] as number) : 0;
    frame.type = head[3] as number;
    frame.stream = head.readUInt32BE(5) & 0x7fff_ffff;
    frame.bytes = HEAD_BYTES + length;
    frame.bodyBytes = frame.type === FRAME.data ? Math.max(0, length - padding) : 0;
    frame.errorCode = frame.type === FRAME.goAway && length >= MOST_PAYLOAD_BYTES ? head.readUInt32BE(13) : 0;
    this.#skip = HEAD_BYTES + length - this.#have;
    this.#have = 0;
    this.#need = HEAD_BYTES;
    this.#onFrame(frame);
  }
}
