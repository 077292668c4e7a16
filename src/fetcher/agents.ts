import type http from 'node:http';
import type https from 'node:https';
import type { Socket } from 'node:net';
import type { Hop } from './hop.ts';

/** How long an unused connection is kept at most, the time until the next sweep included. */
const IDLE_MS = 30_000;

/** How often unused connections are looked through. */
const SWEEP_MS = 1_000;

/** A server that says how long it will wait is believed but for this, the time that its close takes to get here. */
const MARGIN_MS = 1_000;

/** How many are kept. A crawl of many hosts would else have more of them than a process may have files open. */
const MAX_IDLE_SOCKETS = 256;

interface Rest {
  readonly until: number;
  /** Bytes that had come when the socket was put aside: more of them are no answer to anything. */
  readonly bytesRead: number;
}

/**
 * Connections that wait for another request. One that the server may be about to close is worse than none: a request
 * lost with it may have been read, and asking again at once would be asking twice.
 */
export class IdleSockets {
  readonly #resting = new Map<Socket, Rest>();
  readonly #watched = new WeakSet<Socket>();
  readonly #hints = new WeakMap<Socket, number>();
  readonly #most: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(most: number = MAX_IDLE_SOCKETS) {
    this.#most = most;
  }

  get size(): number {
    return this.#resting.size;
  }

  /** Takes note of what a server says in `Keep-Alive` (RFC 2068, 19.7.1.1). */
  hint(socket: Socket, keepAlive: string | string[]): void {
    const text = String(keepAlive);
    if (lastHint.text !== text) lastHint = { text, ms: hintMs(text) };
    const { ms } = lastHint;
    if (ms !== undefined) this.#hints.set(socket, ms);
  }

  /** Lets a socket serve no other request after this one. */
  spoil(socket: Socket): void {
    this.#hints.set(socket, 0);
  }

  /** @returns whether the socket is kept; where it is too many, the one that has waited longest goes. */
  add(socket: Socket): boolean {
    const ms = Math.min(IDLE_MS - SWEEP_MS, (this.#hints.get(socket) ?? IDLE_MS) - MARGIN_MS);
    if (ms <= 0) return false;
    this.#resting.set(socket, { until: performance.now() + ms, bytesRead: socket.bytesRead });
    if (!this.#watched.has(socket)) {
      this.#watched.add(socket);
      socket.once('close', () => this.remove(socket));
    }
    if (this.#resting.size > this.#most) {
      const [oldest] = this.#resting.keys();
      if (oldest !== undefined) this.#drop(oldest);
    }
    this.#timer ??= setTimeout(() => this.#sweep(), SWEEP_MS).unref();
    return true;
  }

  remove(socket: Socket): void {
    this.#resting.delete(socket);
  }

  /** Whether a request may be sent on it: it is open both ways, its time is not up, and nothing came unasked. */
  isFit(socket: Socket): boolean {
    const rest = this.#resting.get(socket);
    if (rest === undefined || socket.destroyed || !socket.writable || socket.readableEnded) return false;
    return performance.now() < rest.until && socket.bytesRead === rest.bytesRead;
  }

  /** Closes those of the list that are not fit, and moves them to its front, where Node leaves them out. */
  weed(sockets: Socket[]): void {
    for (let left = sockets.length; left > 0; left--) {
      const last = sockets[sockets.length - 1] as Socket;
      if (this.isFit(last)) return;
      this.#drop(last);
      sockets.pop();
      sockets.unshift(last);
    }
  }

  /** Stops looking after them; closing them is the agents' part. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#resting.clear();
  }

  #drop(socket: Socket): void {
    this.remove(socket);
    socket.destroy();
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const socket of this.#resting.keys()) if (!this.isFit(socket)) this.#drop(socket);
    if (this.#resting.size > 0) this.#timer = setTimeout(() => this.#sweep(), SWEEP_MS).unref();
  }
}

/** Most servers say the same with every answer. */
let lastHint: { readonly text: string; readonly ms: number | undefined } = { text: '', ms: undefined };

/** Milliseconds of `timeout=` in a `Keep-Alive` header; `undefined` where it has none. */
function hintMs(keepAlive: string): number | undefined {
  for (const part of keepAlive.split(',')) {
    const [name = '', value = ''] = part.split('=');
    if (name.trim().toLowerCase() === 'timeout' && /^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  }
  return undefined;
}

/** What Node's agent does besides what its types tell. */
interface AgentInside {
  addRequest(request: http.ClientRequest, options: https.RequestOptions, ...more: unknown[]): void;
  keepSocketAlive(socket: Socket): boolean;
  reuseSocket(socket: Socket, request: http.ClientRequest): void;
  getName(options: https.RequestOptions): string;
  createConnection(
    options: https.RequestOptions & { readonly hop?: Hop },
    callback: (error: Error | null, socket?: Socket) => void,
  ): Socket | undefined;
  readonly freeSockets: Record<string, Socket[] | undefined>;
}

/** All other options that Node makes a difference between connections by are the same for an agent's life. */
function nameOf({ host, port }: https.RequestOptions): string {
  return `${host}:${port}:`;
}

/**
 * Makes an agent leave its unused connections to `idle`; `keepSocketAlive` and `reuseSocket` are Node's documented way to
 * have a say in what is kept.
 * @param open - Opens connections in place of the agent.
 */
export function keepWith<A extends http.Agent>(agent: A, idle: IdleSockets, open?: (hop: Hop) => Promise<Socket>): A {
  const inside = agent as unknown as AgentInside;
  const addRequest = inside.addRequest.bind(agent);
  const connect = inside.createConnection.bind(agent);
  const reuse = inside.reuseSocket.bind(agent);
  inside.getName = nameOf;
  inside.addRequest = (request, options, ...more) => {
    const free = inside.freeSockets[nameOf(options)];
    if (free !== undefined) idle.weed(free);
    addRequest(request, options, ...more);
  };
  inside.createConnection = (options, callback) => {
    const { hop } = options;
    const prepared = hop?.takePrepared();
    if (prepared !== undefined) return prepared;
    if (open === undefined || hop === undefined) return connect(options, callback);
    open(hop).then((socket) => callback(null, socket), callback);
    return undefined;
  };
  inside.keepSocketAlive = (socket) => {
    socket.setKeepAlive(true, 1_000);
    socket.unref();
    return idle.add(socket);
  };
  inside.reuseSocket = (socket, request) => {
    idle.remove(socket);
    reuse(socket, request);
  };
  return agent;
}
