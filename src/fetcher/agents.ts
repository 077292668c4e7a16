import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';

/** How long an unused connection is kept. */
const IDLE_MS = 30_000;

/** How many are kept. A crawl of many hosts would else have more of them than a process may have files open. */
const MAX_IDLE_SOCKETS = 256;

/** Where connections are kept between requests. */
export interface Agents {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

/**
 * Agents that keep connections alive, together no more than `maxIdle` of them unused. They limit no number of sockets
 * in use: how many requests a host gets at a time is for politeness to say. Idle sockets don't keep the process alive.
 */
export function createAgents(maxIdle: number = MAX_IDLE_SOCKETS): Agents {
  const options: http.AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: IDLE_MS };
  const idle = new IdleSockets(maxIdle);
  return { http: limitIdle(new http.Agent(options), idle), https: limitIdle(new https.Agent(options), idle) };
}

/** Connections that wait for another request; the one that waits longest goes when there are too many. */
class IdleSockets {
  readonly #waiting = new Set<Duplex>();
  readonly #watched = new WeakSet<Duplex>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Duplex): void {
    this.#waiting.add(socket);
    if (!this.#watched.has(socket)) {
      this.#watched.add(socket);
      socket.once('close', () => this.#waiting.delete(socket));
    }
    if (this.#waiting.size <= this.#most) return;
    const [oldest] = this.#waiting;
    if (oldest === undefined) return;
    this.#waiting.delete(oldest);
    oldest.destroy();
  }

  remove(socket: Duplex): void {
    this.#waiting.delete(socket);
  }
}

/** The two methods are Node's documented way to have a say in what is kept. */
function limitIdle<A extends http.Agent>(agent: A, idle: IdleSockets): A {
  // Node answers whether the socket is to be kept; its types don't say so.
  const keep = agent.keepSocketAlive.bind(agent) as (socket: Duplex) => unknown;
  const reuse = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const kept = keep(socket);
    if (kept !== false) idle.add(socket);
    return kept as undefined;
  };
  agent.reuseSocket = (socket, request) => {
    idle.remove(socket);
    reuse(socket, request);
  };
  return agent;
}
