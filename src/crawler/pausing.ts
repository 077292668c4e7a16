import type { Engine } from './engine.ts';

/** The wish to pause: one at a time, which a resume takes back, also before the crawl has begun to work. */
export class Pausing {
  readonly #engine: Promise<Engine>;
  readonly #tell: (event: 'pause' | 'resume') => void;
  #turn = 0;
  #wish: Promise<void> | undefined;
  #told = false;

  constructor(engine: Promise<Engine>, tell: (event: 'pause' | 'resume') => void) {
    this.#engine = engine;
    this.#tell = tell;
  }

  /** Resolves when nothing is in flight, or when the wish was taken back. */
  pause(): Promise<void> {
    this.#wish ??= this.#begin(++this.#turn);
    return this.#wish;
  }

  async resume(): Promise<void> {
    if (this.#wish === undefined) return;
    this.#turn++;
    this.#wish = undefined;
    if (this.#told) {
      this.#told = false;
      this.#tell('resume');
    }
    const engine = await this.#engine.catch(() => undefined);
    // Unless there is a new wish by now.
    if (this.#wish === undefined) engine?.resume();
  }

  async #begin(turn: number): Promise<void> {
    const engine = await this.#engine.catch(() => undefined);
    if (engine === undefined || turn !== this.#turn) return;
    await engine.pause();
    if (turn !== this.#turn) return;
    this.#told = true;
    this.#tell('pause');
  }
}
