import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupCommit, type GroupCommitLimits, type GroupCommitScheduler } from './group-commit.ts'
import { StorageUnavailable } from './unavailable.ts'
import { each } from '#test/harness/fields.ts'

interface Options {
  limits?: Partial<GroupCommitLimits>
  /** Called before each commit; a commit whose call rejects fails. */
  before?: (items: readonly string[]) => Promise<void> | void
  scheduler?: GroupCommitScheduler
}

/** Records the items of each commit. The size of an item is its length; its result is in upper case. */
function recording({ limits = {}, before, scheduler }: Options = {}) {
  const commits: string[][] = []
  const errors: unknown[] = []
  const group = new GroupCommit<string, string>({
    async commit(items) {
      commits.push([...items])
      await before?.(items)
      return items.map((item) => (item === 'refused' ? new Error('refused alone') : item.toUpperCase()))
    },
    sizeOf: ({ length }) => length,
    onError: (error) => errors.push(error),
    limits,
    scheduler,
  })
  return { commits, errors, group, addAll: (...items: string[]) => items.map((item) => group.add(item)) }
}

/** Commits that wait until the test ends them, in their order. */
function waiting() {
  const ends: (() => void)[] = []
  return {
    before: () => new Promise<void>((resolve) => ends.push(resolve)),
    endNext: async () => {
      while (ends.length === 0) await new Promise(setImmediate)
      ends.shift()!()
    },
  }
}

test('items of one turn of the event loop share a commit, and each gets its result', async () => {
  const { commits, group, addAll } = recording()
  assert.deepEqual(await Promise.all(addAll('a', 'b', 'c')), ['A', 'B', 'C'])
  assert.equal(await group.add('d'), 'D')
  assert.deepEqual(commits, [['a', 'b', 'c'], ['d']])
})

test('a commit is bounded in items and in bytes', async () => {
  const { commits, addAll } = recording({ limits: { batch: 2, batchBytes: 4 } })
  await Promise.all(addAll('a', 'b', 'c', 'larger', 'd'))
  assert.deepEqual(commits, [['a', 'b'], ['c'], ['larger'], ['d']])
})

test('items that come while all commits run share the next one', async () => {
  const { before, endNext } = waiting()
  const { commits, group, addAll } = recording({ before })
  const first = group.add('a')
  while (commits.length === 0) await new Promise(setImmediate)
  const rest = Promise.all(addAll('b', 'c'))
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  assert.deepEqual(commits, [['a']])
  await endNext()
  await first
  await endNext()
  await rest
  assert.deepEqual(commits, [['a'], ['b', 'c']])
})

test('as many commits run at once as the limit says, also for items that are there already', async () => {
  const { before, endNext } = waiting()
  const { commits, addAll } = recording({ before, limits: { batch: 1, concurrency: 2 } })
  const all = addAll('a', 'b', 'c')
  while (commits.length < 2) await new Promise(setImmediate)
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  assert.deepEqual(commits, [['a'], ['b']])
  for (let ended = 0; ended < 3; ended += 1) await endNext()
  await Promise.all(all)
})

test('a running commit delays the next one for `maxWait`', async () => {
  for (const [maxWait, expected] of [
    [0, [['a'], ['b']]],
    [Infinity, [['a']]],
  ] as const) {
    const { commits, group } = recording({
      before: () => new Promise(() => undefined),
      limits: { concurrency: 2, maxWait },
    })
    void group.add('a')
    while (commits.length === 0) await new Promise(setImmediate)
    void group.add('b')
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    assert.deepEqual(commits, expected)
  }
})

test('an item that arrives during a long commit waits for `maxWait` and no longer', async () => {
  const timers: { at: number; call: () => void }[] = []
  let now = 0
  const { commits, group } = recording({
    before: () => new Promise(() => undefined),
    limits: { concurrency: 2, maxWait: 50 },
    scheduler: {
      soon: (call) => void setImmediate(call),
      elapsed: () => now,
      after(ms, call) {
        timers.push({ at: now + ms, call })
        return () => undefined
      },
    },
  })
  void group.add('a')
  while (commits.length === 0) await new Promise(setImmediate)
  now = 10
  void group.add('b')
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  assert.deepEqual([commits, timers.map(({ at }) => at)], [[['a']], [50]])
  now = 50
  timers[0]!.call()
  while (commits.length === 1) await new Promise(setImmediate)
  assert.deepEqual(commits, [['a'], ['b']])
})

test('items beyond the bounds are refused, and accepted again later', async () => {
  const { group, addAll } = recording({ limits: { waiting: 2, waitingBytes: 10 } })
  const first = addAll('a', 'b')
  await assert.rejects(group.add('c'), /overloaded/)
  await Promise.all(first)
  const small = group.add('c')
  await assert.rejects(group.add('0123456789'), /overloaded/)
  await small
  await group.add('an item that is larger than the bound, alone')
  assert.deepEqual([group.waiting, group.waitingBytes], [0, 0])
})

test('an unavailable database fails for all items, without a retry', async () => {
  const away = new StorageUnavailable(new Error('away'))
  const { commits, errors, addAll } = recording({ before: () => Promise.reject(away) })
  const results = await Promise.allSettled(addAll('a', 'b'))
  assert.ok(results.every((result) => result.status === 'rejected' && result.reason === away))
  assert.deepEqual([commits.length, errors.length], [1, 0])
})

test('an item whose result is an error affects no other', async () => {
  const { commits, addAll } = recording()
  const results = await Promise.allSettled(addAll('a', 'refused', 'c'))
  assert.deepEqual(each(results, 'status'), ['fulfilled', 'rejected', 'fulfilled'])
  assert.equal(commits.length, 1)
})

test('an item that fails its commit is found by halving, and affects no other', async () => {
  const { commits, errors, addAll } = recording({
    before: (items) => (items.includes('333') ? Promise.reject(new Error('a constraint')) : undefined),
  })
  const all = addAll(...Array.from({ length: 500 }, (_, index) => String(index)))
  const results = await Promise.allSettled(all)
  assert.deepEqual(
    results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
    [333],
  )
  assert.ok(commits.length <= 19, `${commits.length} commits for one bad item among 500`)
  assert.equal(errors.length, 2, 'the first error and the one of the item')
})

test('close refuses new items and waits for the others', async () => {
  let isStored = false
  const { group } = recording({
    async before() {
      await new Promise(setImmediate)
      isStored = true
    },
  })
  const added = group.add('a')
  const closed = group.close()
  await assert.rejects(group.add('b'), /stopping/)
  await closed
  assert.ok(isStored)
  await added
})
