import type { Crawler } from '../index.ts';
import type { Output } from './arguments.ts';
import { onOutputError } from './closed-pipes.ts';

/**
 * Ctrl-C once ends the crawl when what is in flight has finished, twice ends it at once. SIGTERM is the first Ctrl-C.
 * @returns `stop`, which gives the signals back; `failure`, why standard output could not be written; `unread`, whether who
 * read it has gone; and `signal`, the first that came.
 */
export function interruptible(
  crawler: Crawler,
  output: Output,
  state: string | undefined,
): { stop(): void; failure(): Error | undefined; unread(): boolean; signal(): NodeJS.Signals | undefined } {
  let first: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = signal;
      const later = state === undefined ? '' : '. Run the same command again to go on';
      output.err(`\nStopping: what is in flight is being finished (Ctrl-C again to stop at once)${later}\n`);
      void crawler.stop();
    } else {
      void crawler.stop({ now: true });
    }
  };
  // Whoever reads the output has gone, as after `| head`: nobody wants the rest.
  let failure: Error | undefined;
  let unread = false;
  const onPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') unread = true;
    else failure ??= error;
    void crawler.stop({ now: true });
  };
  process.stdout.off('error', onOutputError);
  process.stdout.on('error', onPipe);
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    failure: () => failure,
    unread: () => unread,
    signal: () => first,
    stop: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
