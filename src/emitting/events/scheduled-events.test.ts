import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Emitted, Emitter } from './emitter.ts'
import { ScheduledEvents } from './scheduled-events.ts'

test('scheduled events are read at their time, at a signal and once a minute, not all the time', async () => {
  let now = 1_000_000
  const timers = new Set<{ at: number; run: () => void }>()
  const clock = {
    now: () => now,
    after(ms: number, run: () => void) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
  }
  const advance = async (ms: number): Promise<void> => {
    const end = now + ms
    for (;;) {
      const [next] = [...timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)
      if (!next) break
      timers.delete(next)
      now = next.at
      next.run()
      await turn()
    }
    now = end
  }
  const reads: number[] = []
  let next: number | null = null
  let heard: (() => void) | undefined
  const query = {
    select: () => query,
    where: () => query,
    executeTakeFirst: async () => {
      reads.push(now)
      return { next }
    },
  }
  const database = {
    reader: { selectFrom: () => query },
    onSignal: (_name: string, listener: () => void) => {
      heard = listener
      return () => (heard = undefined)
    },
    signal: () => heard?.(),
    // Another process releases them.
    inBackground: async () => {
      next = null
      return 0
    },
  }
  const worker = new ScheduledEvents({ database, clock, log: { error: assert.ifError } } as never)
  const dispatcher = { offer: () => undefined }
  const emitter = new Emitter({ database, clock, dispatcher: () => dispatcher } as never)
  worker.start()
  await turn()
  assert.deepEqual(reads.splice(0), [1_000_000])
  await advance(59_999)
  assert.deepEqual(reads, [], 'nothing is scheduled')
  await advance(1)
  assert.deepEqual(reads.splice(0), [1_060_000], 'a lost signal heals')
  emitter.announce([{ deliverAt: now } as Emitted])
  await advance(0)
  assert.deepEqual(reads, [], 'it is sent at once')
  next = now + 5_000
  emitter.announce([{ deliverAt: next } as Emitted])
  await turn()
  assert.deepEqual(reads.splice(0), [1_060_000])
  await advance(4_999)
  assert.deepEqual(reads, [])
  await advance(1)
  assert.deepEqual(reads.splice(0), [1_065_000])
  await advance(1_999)
  assert.deepEqual(reads, [])
  await advance(1)
  assert.deepEqual(reads.splice(0), [1_067_000], 'what was due is looked at again')
  await worker.stop()
  assert.equal(heard, undefined)
  await advance(600_000)
  assert.deepEqual(reads, [])
})
