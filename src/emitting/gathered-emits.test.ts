import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Emitted, PendingResults } from './emitter.ts'
import { GatheredEmits } from './gathered-emits.ts'
import type { NewEvent } from './event.ts'

/** Emits over a database that tells which events each commit had; one whose type is `wrong` is refused. */
function gathered(fails: Error[] = []) {
  const commits: unknown[][] = []
  const announced: number[] = []
  const settle = async (
    _tx: unknown,
    _last: unknown,
    events: readonly NewEvent[],
  ): Promise<PendingResults> => {
    commits.push(events.map(({ data }) => data))
    const error = fails.shift()
    if (error) throw error
    const results = events.map(({ type, data }) =>
      type === 'wrong'
        ? new Problem('invalid-body')
        : { id: Number(data), eventId: `e-${String(data)}`, committed: [] },
    )
    return { results: Promise.resolve(results) }
  }
  const database = { engine: 'sqlite', transaction: (work: (tx: unknown) => unknown) => work({}) }
  const emits = new GatheredEmits({
    database: database as unknown as Database,
    emitter: { emitEach: settle },
    announce: (emitted) => void announced.push(...emitted.map(({ id }) => id)),
  })
  return { commits, announced, emit: (data: number, type = 'a') => emits.emit({ type, data }) }
}

test('what comes in one turn of the loop shares a commit, each request in a callback of its own', async () => {
  const { commits, announced, emit } = gathered()
  const results: Promise<Emitted>[] = []
  for (let data = 0; data < 3; data += 1) {
    results.push(emit(data))
    // As between two callbacks of the loop: all promises that can be settled are.
    for (let step = 0; step < 100; step += 1) await Promise.resolve()
  }
  assert.deepEqual(
    (await Promise.all(results)).map(({ eventId }) => eventId),
    ['e-0', 'e-1', 'e-2'],
  )
  assert.deepEqual([commits, announced], [[[0, 1, 2]], [0, 1, 2]])
})

test('an event that is refused, or that makes the commit fail, is no fault of the others', async () => {
  const { commits, announced, emit } = gathered([new Error('a constraint'), new Error('a constraint')])
  const [first, second, third] = await Promise.allSettled([emit(0), emit(1, 'wrong'), emit(2)])
  assert.deepEqual(
    [first.status, second.status, third.status],
    ['rejected', 'rejected', 'fulfilled'],
    'the first one was at fault when each was tried alone',
  )
  assert.deepEqual([commits, announced], [[[0, 1, 2], [0], [1], [2]], [2]])
})

test('when the database is away, nobody is tried alone', async () => {
  const { commits, emit } = gathered([new StorageUnavailable(new Error('away'))])
  const results = await Promise.allSettled([emit(0), emit(1)])
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(commits.length, 1)
})
