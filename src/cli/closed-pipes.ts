/**
 * Lets whoever reads the output go before its end, as `head` does: nobody wants the rest, and an `error` event that nobody
 * hears would end the process with a stack.
 */
export function allowClosedPipes(): void {
  for (const [stream, onError] of LISTENERS)
    if (!stream.listeners('error').includes(onError)) stream.on('error', onError);
}

/** What else is wrong with standard output is told here, until a crawl hears it itself. */
export function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`error: standard output can't be written: ${error.message}\n`);
  process.exitCode = 1;
}

const LISTENERS = [
  [process.stdout, onOutputError],
  // There is no place left to say it.
  [process.stderr, () => {}],
] as const;
