import { Problem } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { commitEmits, type CommitEmitsParts } from './commit-emits.ts'
import type { Emitted } from './emitter.ts'
import type { NewEvent } from './event.ts'

/** Events of one commit at most. */
const most = 200
/** Concurrent commits. SQLite has one write lock. */
const atOnce = { sqlite: 1, postgres: 3 }

interface Waiting {
  event: NewEvent
  resolve: (emitted: Emitted) => void
  reject: (error: unknown) => void
}

export interface GatheredEmitsParts extends CommitEmitsParts {
  database: Pick<Database, 'engine' | 'transaction'>
}

/**
 * Emits single events with shared commits, because a commit takes most of the time. Events that come during a commit share the
 * next one. An event that comes alone is committed at once.
 */
export class GatheredEmits {
  readonly #parts: GatheredEmitsParts
  readonly #waiting: Waiting[] = []
  #committing = 0

  constructor(parts: GatheredEmitsParts) {
    this.#parts = parts
  }

  /**
   * Resolves when the event is committed.
   * @throws Problem as `EmitWithin`; StorageUnavailable
   */
  emit(event: NewEvent): Promise<Emitted> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject })
      void this.#commitAll()
    })
  }

  async #commitAll(): Promise<void> {
    if (this.#committing >= atOnce[this.#parts.database.engine]) return
    this.#committing += 1
    while (this.#waiting.length > 0) {
      // Events that come in this same turn of the event loop share the commit: on SQLite it would block the loop.
      await new Promise((resolve) => setImmediate(resolve))
      const some = this.#waiting.splice(0, most)
      if (some.length > 0) await this.#commit(some)
    }
    this.#committing -= 1
  }

  async #commit(waiting: readonly Waiting[]): Promise<void> {
    let results: (Emitted | Problem)[]
    try {
      results = await commitEmits(
        this.#parts,
        waiting.map(({ event }) => event),
      )
    } catch (error) {
      if (waiting.length === 1 || error instanceof StorageUnavailable) {
        for (const { reject } of waiting) reject(error)
        return
      }
      // One event may have caused the error: commits each alone, so that the others succeed.
      for (const one of waiting) await this.#commit([one])
      return
    }
    for (const [index, result] of results.entries()) {
      if (result instanceof Problem) waiting[index]!.reject(result)
      else waiting[index]!.resolve(result)
    }
  }
}
