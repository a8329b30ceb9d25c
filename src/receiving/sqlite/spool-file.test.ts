import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { incomingEvent } from '#test/receiving/incoming-event.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { copyAside, type Spooled, SpoolFile } from './spool-file.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

const folder = temporaryFolder()

const events = (from: number, count: number, bytes = 10): IncomingEvent[] =>
  Array.from({ length: count }, (_, index) =>
    incomingEvent(`evt_${from + index}`, {
      payload: new Uint8Array(bytes).fill(7),
      receivedAt: 1_700_000_000_000 + from + index,
    }),
  )

const seqsOf = (spooled: readonly Spooled[]): number[] => spooled.map(({ seq }) => seq)

test('added events survive a restart, with their count and order', () => {
  const file = join(folder, 'order.db')
  const first = new SpoolFile(file)
  first.add(events(0, 30))
  first.forget(seqsOf(first.oldest(10)))
  first.close()
  const second = new SpoolFile(file)
  assert.equal(second.count, 20)
  assert.equal(second.oldestReceivedAt, 1_700_000_000_010)
  second.add(events(30, 5))
  assert.deepEqual(
    second.oldest(100).map(({ eventId }) => eventId),
    Array.from({ length: 25 }, (_, index) => `evt_${10 + index}`),
  )
  second.forget(seqsOf(second.oldest(100)))
  assert.equal(second.count, 0)
  assert.equal(second.oldestReceivedAt, undefined)
  second.close()
})

test('a gap of removed events does not stay in the count', () => {
  const file = join(folder, 'gap.db')
  const first = new SpoolFile(file)
  first.add(events(0, 30))
  first.forget(seqsOf(first.oldest(20).slice(10)))
  assert.equal(first.count, 20)
  assert.equal(first.oldest(100).length, 20)
  first.close()
  const second = new SpoolFile(file)
  second.forget(seqsOf(second.oldest(100)))
  assert.deepEqual(second.oldest(100), [])
  assert.equal(second.count, 0)
  second.close()
})

test('a full spool refuses events, and accepts them again after others were removed', () => {
  const spool = new SpoolFile(join(folder, 'full.db'), { maxBytes: 1024 * 1024 })
  let added = 0
  while (added < 200 && spool.add(events(added, 10, 20_000))) added += 10
  assert.ok(added > 20 && added < 80)
  assert.ok(spool.full)
  assert.equal(spool.count, added)
  spool.forget(seqsOf(spool.oldest(20)))
  assert.ok(!spool.full)
  assert.ok(spool.add(events(500, 10)))
  spool.close()
})

test('large events are read in small batches of at least one', () => {
  const spool = new SpoolFile(join(folder, 'large.db'))
  spool.add(events(0, 4, 3 * 1024 * 1024))
  spool.add(events(4, 1, 20 * 1024 * 1024))
  for (const expected of [2, 2, 1]) {
    const read = spool.oldest(500)
    assert.equal(read.length, expected)
    spool.forget(seqsOf(read))
  }
  spool.close()
})

test('an empty spool frees its disk space', () => {
  const file = join(folder, 'shrink.db')
  const spool = new SpoolFile(file)
  spool.add(events(0, 100, 20_000))
  spool.shrink()
  assert.ok(statSync(`${file}-wal`).size > 1_000_000, 'it does nothing while something lies in it')
  spool.forget(seqsOf(spool.oldest(100)))
  spool.shrink()
  assert.ok(statSync(file).size < 65_536)
  assert.equal(statSync(`${file}-wal`).size, 0)
  spool.close()
})

test('an event that was set aside is found by its number without a scan', () => {
  const file = join(folder, 'aside.db')
  const spool = new SpoolFile(file)
  spool.add(events(0, 3))
  const [, second] = spool.oldest(3)
  spool.setAside(second!.seq, 'a constraint')
  spool.setAside(second!.seq, 'a constraint')
  spool.close()
  const connection = new SqliteConnection(file, { readOnly: true })
  assert.deepEqual(connection.arrays('select event_id, reason, payload = zeroblob(0) from set_aside'), [
    ['evt_1', 'a constraint', 0],
  ])
  const [plan] = connection.all<{ detail: string }>(
    `explain query plan ${copyAside.slice(copyAside.indexOf('select'))}`,
    ['a constraint', 1],
  )
  assert.match(plan!.detail, /^SEARCH spool USING INTEGER PRIMARY KEY/)
  connection.close()
})
