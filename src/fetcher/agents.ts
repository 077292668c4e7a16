import http from 'node:http';
import https from 'node:https';

/** How long an unused connection is kept. */
const IDLE_MS = 30_000;

/** Where connections are kept between requests. */
export interface Agents {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

/**
 * Agents that keep connections alive. They limit no number of sockets: how many requests a host gets at a time is for
 * politeness to say. Idle sockets don't keep the process alive.
 */
export function createAgents(): Agents {
  const options = { keepAlive: true, scheduling: 'lifo', timeout: IDLE_MS } as const;
  return { http: new http.Agent(options), https: new https.Agent(options) };
}
