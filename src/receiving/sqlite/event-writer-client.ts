import type { IncomingEvent } from '../incoming.ts'
import { packBatch } from './batch-message.ts'
import type { Answer, Task } from './event-writer-thread.ts'
import { ThreadClient } from './thread-client.ts'

/** The writer thread as seen from the service. */
export class EventWriterClient {
  readonly #thread: ThreadClient<Task, Answer>

  /** @param onSpooled told after each task, and once at the start, how many events lie in the spool. */
  constructor(file: string, onSpooled: (count: number) => void) {
    this.#thread = new ThreadClient<Task, Answer>({
      module: new URL('event-writer-thread.ts', import.meta.url),
      name: 'event writer',
      workerData: { file },
      onAnswer: ({ spooled }) => onSpooled(spooled),
    })
  }

  /**
   * Resolves once the events are on the disk.
   * @throws Problem `overloaded`; StorageUnavailable, also when the thread dies: then nobody knows what it did.
   */
  async insert(events: readonly IncomingEvent[], mayWrite: boolean): Promise<void> {
    const { message, transfer } = packBatch(events)
    await this.#thread.ask({ kind: 'insert', batch: message, mayWrite }, transfer)
  }

  /** Moves the oldest spooled events into the database; false when another process has its lock. */
  async move(): Promise<boolean> {
    return (await this.#thread.ask({ kind: 'move' })).moved === true
  }

  /** Starts the thread, and with it the move of what an earlier process left in the spool. */
  start(): void {
    this.#thread.start()
  }

  /** Ends the thread when it has done what it was given. */
  close(): Promise<void> {
    return this.#thread.end({ kind: 'close' })
  }
}
