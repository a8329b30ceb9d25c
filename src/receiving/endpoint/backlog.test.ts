import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backlog } from './admission.ts'
import type { PendingKind } from '../queue/store.ts'

function backlogOver(look: () => PendingKind[]) {
  let looks = 0
  const errors: unknown[] = []
  const backlog = new Backlog({
    store: { pendingKinds: async (after) => (after.source === '' ? (looks++, look()) : []) },
    clock: { now: () => 0, after: () => () => undefined },
    onError: (error) => errors.push(error),
  })
  return { backlog, errors, looks: () => looks }
}
const settle = () => new Promise(setImmediate)

test('the age of the oldest due event is cached and read at most once a second', async () => {
  const { backlog, looks } = backlogOver(() => [
    { source: 'a', type: 'x', dueAt: 5_000 },
    { source: 'a', type: 'y', dueAt: 2_000 },
    { source: 'b', type: 'x', dueAt: 90_000 },
  ])
  assert.equal(backlog.ageOf('a', 10_000), 0, 'nothing is known yet, and nobody waits for it')
  await settle()
  for (let asked = 0; asked < 1_000; asked += 1) assert.equal(backlog.ageOf('a', 10_000), 8_000)
  assert.equal(backlog.ageOf('b', 10_000), 0, 'not due yet')
  assert.equal(backlog.ageOf('c', 10_000), 0)
  assert.equal(looks(), 1)
  assert.equal(backlog.ageOf('a', 11_000), 9_000)
  await settle()
  assert.equal(looks(), 2)
})

test('an outdated age is not used, so that an idle source is not refused', async () => {
  let pending: PendingKind[] = [{ source: 'a', type: 'x', dueAt: 0 }]
  const { backlog } = backlogOver(() => pending)
  backlog.ageOf('a', 100_000)
  await settle()
  assert.equal(backlog.ageOf('a', 100_000), 100_000)
  pending = []
  assert.equal(backlog.ageOf('a', 3_600_000), 0)
})

test('when the event queue cannot be read, no event is refused, and the next read is tried', async () => {
  let broken = true
  const { backlog, errors } = backlogOver(() => {
    if (broken) throw new Error('gone')
    return [{ source: 'a', type: 'x', dueAt: 0 }]
  })
  backlog.ageOf('a', 50_000)
  await settle()
  assert.equal(backlog.ageOf('a', 50_000), 0)
  assert.equal(errors.length, 1)
  broken = false
  await settle()
  backlog.ageOf('a', 52_000)
  await settle()
  assert.equal(backlog.ageOf('a', 52_000), 52_000)
})

test('reads that fail are tried once a second, not by each webhook', async () => {
  const { backlog, errors } = backlogOver(() => {
    throw new Error('gone')
  })
  for (let asked = 0; asked < 10; asked += 1) {
    backlog.ageOf('a', 50_000 + asked)
    await settle()
  }
  assert.equal(errors.length, 1)
  backlog.ageOf('a', 51_000)
  await settle()
  assert.equal(errors.length, 2)
})
