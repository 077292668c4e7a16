/** Whether `await` would wait for a value. Throws only what reading its `then` throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((value !== null && typeof value === 'object') || typeof value === 'function') &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/** Lets a promise that nobody waits for be rejected without harm; any other value is left as it is. Never throws. */
export function ignore(value: unknown): void {
  Promise.resolve(value).then(undefined, () => {});
}

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
  ignore(promise);
  return { promise, resolve, reject };
}
