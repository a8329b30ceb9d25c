import { Problem } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import type { Announce, Emitted, Emitter } from './emitter.ts'
import type { NewEvent } from './event.ts'

export interface CommitEmitsParts {
  database: Pick<Database, 'transaction'>
  emitter: Pick<Emitter, 'emitEach'>
  announce: Announce
}

/**
 * Emits events in one transaction, each for itself, and passes them to the dispatcher after the commit.
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
