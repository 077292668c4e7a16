export { HOSTILE_AUTHORITY } from './certificates.ts';
export type { FaultPlace, HostileFault } from './fault.ts';
export { HOSTILE_FAULTS, HOSTILE_SERVER_DEFAULTS, HostileServer, type HostileServerOptions } from './server.ts';
