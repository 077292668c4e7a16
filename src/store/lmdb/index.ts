export { LMDB_STORE_DEFAULTS, LmdbStore, type LmdbStoreOptions } from './lmdb-store.ts';
export type { StoredHost } from './stored-host.ts';
