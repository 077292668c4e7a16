/** Frames without a part of a body that a request may get: its head and trailers, windows, pings, settings. */
const FRAMES_PER_REQUEST = 500;
/** And that may come with a frame of a body. */
const FRAMES_PER_BODY_FRAME = 4;
/** What is saved up at most beyond what is open, so that a connection of many requests earns no flood. */
const MOST_FRAMES = 2_000;

/** Bytes that a request may get besides its head and its body. */
const BYTES_PER_REQUEST = 524_288;
/** Bytes that may frame a byte of a body: frames of three bytes are let pass for ever, those of one for a while. */
const BYTES_PER_BODY_BYTE = 4;
const MOST_BYTES = 2_097_152;

/**
 * What a server may send over HTTP/2 that is no part of a body. It is saved up by requests and by bodies: frames that say
 * nothing (empty or padded data, priorities, settings, windows, answers of 1xx) could else be sent and read for ever.
 */
export class FrameBudget {
  readonly #headBytes: number;
  #frames = 0;
  #bytes = 0;
  /** Requests that have not come to their end. */
  #open = 0;

  /** @param headBytes - What all heads of one answer may take. */
  constructor(headBytes: number) {
    this.#headBytes = headBytes;
  }

  /** For what the server says before it is asked. */
  earn(): void {
    this.#add(FRAMES_PER_REQUEST, BYTES_PER_REQUEST + this.#headBytes);
  }

  /** A request was sent. */
  ask(): void {
    this.#open++;
    this.earn();
  }

  /** A request has come to its end. */
  end(): void {
    this.#open--;
  }

  /** @returns whether a frame is within it. */
  spend(bytes: number, bodyBytes: number): boolean {
    if (bodyBytes > 0) this.#add(FRAMES_PER_BODY_FRAME, BYTES_PER_BODY_BYTE * bodyBytes);
    else this.#frames--;
    this.#bytes -= bytes - bodyBytes;
    return this.#frames >= 0 && this.#bytes >= 0;
  }

  #add(frames: number, bytes: number): void {
    const most = Math.max(MOST_FRAMES, this.#open * FRAMES_PER_REQUEST);
    const mostBytes = Math.max(MOST_BYTES + this.#headBytes, this.#open * (BYTES_PER_REQUEST + this.#headBytes));
    this.#frames = Math.min(most, this.#frames + frames);
    this.#bytes = Math.min(mostBytes, this.#bytes + bytes);
  }
}
