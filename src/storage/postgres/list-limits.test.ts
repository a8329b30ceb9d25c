import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgres } from './database.ts'
import { scoped } from '../../../test/harness/scoped.ts'

/** Starts pieces of work that last until they are released. */
function startWork(lists: (work: () => Promise<void>, isQuick: boolean) => Promise<void>) {
  const running: { kind: string; end: () => void }[] = []
  const all: Promise<void>[] = []
  return {
    begin(kind: 'quick' | 'slow', count: number): void {
      const work = () => new Promise<void>((end) => running.push({ kind, end }))
      for (let index = 0; index < count; index += 1) all.push(lists(work, kind === 'quick'))
    },
    running: async (kind: string): Promise<number> => {
      await new Promise(setImmediate)
      return running.filter((one) => one.kind === kind).length
    },
    endOldest: (): void => running.shift()?.end(),
    async endAll(): Promise<void> {
      const ended = Promise.all(all)
      for (;;) {
        for (const { end } of running.splice(0)) end()
        if (await Promise.race([ended.then(() => true), new Promise(setImmediate)])) return
      }
    },
  }
}

test('quick lists get more connections than slow ones, and slow ones get their turn among quick ones', async () => {
  // Nothing connects: the work needs no connection.
  await using database = scoped(openPostgres('postgres://nobody@127.0.0.1:1/none', { connections: 12 }))
  const work = startWork((run, isQuick) => database.lists(run, isQuick))
  try {
    work.begin('slow', 10)
    assert.equal(await work.running('slow'), 2)
    work.begin('quick', 10)
    assert.equal(await work.running('quick'), 2, 'beside the slow ones')
    work.endOldest()
    assert.equal(await work.running('slow'), 1, 'another quick one waited for longer')
    assert.equal(await work.running('quick'), 3)
    for (let ended = 0; ended < 9; ended += 1) {
      work.endOldest()
      await work.running('quick')
    }
    assert.equal(await work.running('slow'), 2, 'the slow ones had their turn')
  } finally {
    await work.endAll()
  }
})
