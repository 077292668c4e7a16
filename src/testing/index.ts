export type { StoreCase } from './fixture.ts';
export { type StoreContractOptions, storeContract } from './store-contract.ts';
export { exerciseStore, type WalkOptions } from './store-model.ts';
