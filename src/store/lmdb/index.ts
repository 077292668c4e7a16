export type { StoredHost } from './core.ts';
export { LMDB_STORE_DEFAULTS, LmdbStore, type LmdbStoreOptions } from './lmdb-store.ts';
