export { MEMORY_STORE_DEFAULTS, MemoryStore, type MemoryStoreOptions } from './memory-store.ts';
