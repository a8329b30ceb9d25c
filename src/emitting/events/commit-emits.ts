import { Problem } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import { GroupCommit } from '../../storage/group-commit.ts'
import type { Announce, Emitted, Emitter } from './emitter.ts'
import type { NewEvent } from './event.ts'

export interface CommitEmitsParts {
  database: Pick<Database, 'engine' | 'transaction'>
  emitter: Pick<Emitter, 'emitEach'>
  announce: Announce
}

/**
 * Emits events in one transaction, each with its own result, and passes them to the dispatcher after the commit.
 * @throws StorageUnavailable
 */
export async function commitEmits(
  { database, emitter, announce }: CommitEmitsParts,
  events: readonly NewEvent[],
): Promise<(Emitted | Problem)[]> {
  if (events.length === 0) return []
  const { results } = await database.transaction((tx, last) => emitter.emitEach(tx, last, events))
  const settled = await results
  announce(settled.filter((result): result is Emitted => !(result instanceof Problem)))
  return settled
}

/**
 * Emits single events by group commit. `add` rejects with a Problem as `EmitWithin` does or, when too many events wait,
 * `overloaded`; or with StorageUnavailable.
 */
export function groupEmits(parts: CommitEmitsParts): GroupCommit<NewEvent, Emitted> {
  return new GroupCommit<NewEvent, Emitted>({
    commit: (events) => commitEmits(parts, events),
    refuse: (reason) => new Problem(reason, { retryAfter: 1 }),
    // A commit begins in the next turn of the event loop. SQLite has one write lock.
    limits: { enough: 1, concurrency: parts.database.engine === 'sqlite' ? 1 : 3, batch: 200 },
  })
}
