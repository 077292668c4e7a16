/** A promise, and what settles it. */
export interface Promised<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise to be settled from outside; one that nobody waits for may be rejected without harm. */
export function promised<T>(): Promised<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
