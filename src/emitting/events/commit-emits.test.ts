import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import { groupEmits, type PendingResults } from './emitter.ts'
import type { NewEvent } from './event.ts'
import { each } from '#test/harness/fields.ts'

/** Emits over a database that records the events of each commit. An event of the type `wrong` is refused, one of `fatal` fails. */
function grouped(commitError?: Error) {
  const commits: unknown[][] = []
  const announced: number[] = []
  const emitEach = async (
    _tx: unknown,
    _last: unknown,
    events: readonly NewEvent[],
  ): Promise<PendingResults> => {
    commits.push(events.map(({ data }) => data))
    if (commitError) throw commitError
    if (events.some(({ type }) => type === 'fatal')) throw new Error('a constraint')
    const results = events.map(({ type, data }) =>
      type === 'wrong'
        ? new Problem('invalid-body')
        : { id: Number(data), eventId: `e-${String(data)}`, isNew: true, at: 0, committed: [] },
    )
    return { results: Promise.resolve(results) }
  }
  const database = { engine: 'sqlite', transaction: (work: (tx: unknown) => unknown) => work({}) }
  const emits = groupEmits({
    database: database as unknown as Database,
    emitter: { emitEach },
    announce: (emitted) => void announced.push(...emitted.map(({ id }) => id)),
  })
  return { commits, announced, emit: (data: number, type = 'a') => emits.add({ type, data }) }
}

test('an event that is refused, or that makes the commit fail, does not affect the others', async () => {
  const { announced, emit } = grouped()
  const results = await Promise.allSettled([emit(0, 'fatal'), emit(1, 'wrong'), emit(2)])
  assert.deepEqual(each(results, 'status'), ['rejected', 'rejected', 'fulfilled'])
  assert.deepEqual(announced, [2])
})
