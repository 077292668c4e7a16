import type { NodeWorker, Session } from 'node:inspector';
import { isMainThread, type Worker } from 'node:worker_threads';

/**
 * How much further than promised V8 lets a heap grow. Node ends a thread in an orderly way only where the heap meets its
 * limit little by little; V8 ends the process where a single allocation goes beyond it, and none is larger than this.
 */
export const HEADROOM_BYTES = 1_140_850_688;

const HAS_USED = { id: 1, method: 'Runtime.getHeapUsage' };
/** The end of a sampling is what collects garbage at once, in the middle of a loop as well; nothing is sampled. */
const COLLECT = [
  { id: 2, method: 'HeapProfiler.startSampling', params: { samplingInterval: 2 ** 40 } },
  { id: 3, method: 'HeapProfiler.stopSampling' },
];
const HAS_LEFT = { id: 4, method: 'Runtime.getHeapUsage' };

interface Watched {
  readonly worker: Worker;
  /** Whether it has still to answer. */
  asked: boolean;
}

/**
 * Ends threads whose heap outgrows its limit. It asks them from the main thread by way of the inspector, which a thread
 * answers in the middle of a loop, too, and without running JavaScript.
 */
export class MemoryWatch {
  readonly #limitBytes: number;
  readonly #session: Session;
  readonly #watched = new Map<string, Watched>();
  #inbox: ((threads: readonly Worker[]) => void)[] = [];
  #connected = false;

  /**
   * Resolves to `undefined` where threads can't be asked: in a thread of Node's own, without an inspector, or where it is
   * not permitted. Connects to nothing yet.
   */
  static async open(limitBytes: number): Promise<MemoryWatch | undefined> {
    if (!isMainThread) return undefined;
    try {
      const inspector = await import('node:inspector');
      const session = new inspector.Session();
      session.connect();
      session.disconnect();
      return new MemoryWatch(limitBytes, session);
    } catch {
      return undefined;
    }
  }

  private constructor(limitBytes: number, session: Session) {
    this.#limitBytes = limitBytes;
    this.#session = session;
    // The inspector interrupts whatever code is running to call these, so all that they do is to take a note.
    session.on('NodeWorker.attachedToWorker', ({ params }) =>
      this.#inbox.push((threads) => this.#attached(params, threads)),
    );
    session.on('NodeWorker.detachedFromWorker', ({ params }) =>
      this.#inbox.push(() => this.#watched.delete(params.sessionId)),
    );
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => this.#inbox.push(() => this.#received(params)));
  }

  /** To be called all the while that the threads, which are all that are looked at, have something to do. */
  look(threads: readonly Worker[]): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const take of inbox) take(threads);
    // No heap can be larger than all the memory of the process.
    if (process.memoryUsage.rss() <= this.#limitBytes) return;
    this.#connect();
    for (const [sessionId, watched] of this.#watched) if (!watched.asked) this.#ask(sessionId, watched, [HAS_USED]);
  }

  /** Lets go of the threads. */
  close(): void {
    if (this.#connected) this.#session.disconnect();
    this.#connected = false;
    this.#watched.clear();
    this.#inbox = [];
  }

  #connect(): void {
    if (this.#connected) return;
    this.#connected = true;
    this.#session.connect();
    this.#session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  #attached({ sessionId, workerInfo }: NodeWorker.AttachedToWorkerEventDataType, threads: readonly Worker[]): void {
    // Nothing else tells which thread it is.
    const threadId = Number(/^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]);
    const worker = threads.find((thread) => thread.threadId === threadId);
    if (worker === undefined) this.#session.post('NodeWorker.detach', { sessionId });
    else this.#watched.set(sessionId, { worker, asked: false });
  }

  #ask(sessionId: string, watched: Watched, requests: readonly object[]): void {
    watched.asked = true;
    for (const request of requests) {
      // A thread that is gone by now is told of with the messages that come next.
      this.#session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(request) }, () => {});
    }
  }

  #received({ sessionId, message }: NodeWorker.ReceivedMessageFromWorkerEventDataType): void {
    const watched = this.#watched.get(sessionId);
    const { id, result } = JSON.parse(message) as { id?: number; result?: { usedSize?: number } };
    if (watched === undefined || (id !== HAS_USED.id && id !== HAS_LEFT.id)) return;
    watched.asked = false;
    if ((result?.usedSize ?? 0) <= this.#limitBytes) return;
    if (id === HAS_USED.id) {
      // Some of it may be garbage.
      this.#ask(sessionId, watched, [...COLLECT, HAS_LEFT]);
      return;
    }
    this.#watched.delete(sessionId);
    // As Node tells of a thread that has met V8's limit; whoever has started it ends it then.
    watched.worker.emit('error', new OutOfMemory());
  }
}

class OutOfMemory extends Error {
  readonly code = 'ERR_WORKER_OUT_OF_MEMORY';

  constructor() {
    super('The heap of the thread outgrew its limit');
  }
}
