export type { StoreCase } from './fixture.ts';
export {
  type FaultPlace,
  HOSTILE_AUTHORITY,
  HOSTILE_FAULTS,
  HOSTILE_SERVER_DEFAULTS,
  type HostileFault,
  HostileServer,
  type HostileServerOptions,
} from './hostile/index.ts';
export { type StoreContractOptions, storeContract } from './store-contract.ts';
export { exerciseStore, type WalkOptions } from './store-model.ts';
