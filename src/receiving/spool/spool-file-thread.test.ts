import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { packEvents } from '../queue/event-rows.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import type { SpoolFileTasks } from './spool-file-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-spool-thread-'))
after(() => rmSync(folder, { recursive: true, force: true }))

type Thread = ThreadClient<SpoolFileTasks>

async function openWith(name: string, events: number): Promise<Thread> {
  const module = new URL('spool-file-thread.ts', import.meta.url)
  const workerData = { file: join(folder, name), maxBytes: 1024 * 1024 }
  const thread: Thread = new ThreadClient({ module, name: 'spool', workerData })
  await add(thread, events)
  return thread
}

const read = async (thread: Thread, limit: number): Promise<number[]> =>
  (await thread.call('read', limit)).seqs

async function add(thread: Thread, count: number): Promise<void> {
  const event = {
    source: 'shop',
    type: 'order.paid',
    contentType: 'application/json',
    headers: '{}',
    payload: new Uint8Array(10),
    receivedAt: 1_700_000_000_000,
    dueAt: 1_700_000_000_000,
    status: 'pending' as const,
    orderKey: null,
  }
  const events = Array.from({ length: count }, (_, index) => ({ ...event, eventId: `evt_${index}` }))
  assert.ok(await thread.call('append', packEvents(events)))
}

test('batches have different events, and later ones may be removed first', async () => {
  const thread = await openWith('ahead.db', 6)
  assert.deepEqual(
    [await read(thread, 2), await read(thread, 2)],
    [
      [1, 2],
      [3, 4],
    ],
  )
  await thread.call('remove', { from: 3, to: 4 })
  assert.deepEqual(await read(thread, 9), [5, 6])
  assert.deepEqual(await read(thread, 9), [])
  await add(thread, 1)
  assert.deepEqual(await read(thread, 9), [7], 'an event that came later is read')
  assert.equal((await thread.call('state', undefined)).events, 5, 'events that are held are still there')
  await thread.close()
})

test('released batches are read again, the oldest first', async () => {
  const thread = await openWith('given-back.db', 7)
  for (let portion = 0; portion < 3; portion += 1) await read(thread, 2)
  await thread.call('releaseEvents', { from: 3, to: 4 })
  await thread.call('remove', { from: 5, to: 6 })
  await thread.call('releaseEvents', { from: 1, to: 2 })
  assert.deepEqual(await read(thread, 3), [1, 2, 3])
  assert.deepEqual(await read(thread, 9), [4, 7], 'and not those that were removed')
  assert.deepEqual(await read(thread, 9), [])
  await thread.close()
})

test('a batch that cannot be removed is read again', async () => {
  const thread = await openWith('not-removed.db', 3)
  await read(thread, 2)
  const other = new DatabaseSync(join(folder, 'not-removed.db'))
  other.exec('begin immediate')
  await assert.rejects(thread.call('remove', { from: 1, to: 2 }), { name: 'StorageUnavailable' })
  other.exec('rollback')
  other.close()
  assert.deepEqual(await read(thread, 2), [1, 2])
  await thread.call('remove', { from: 1, to: 2 })
  assert.equal((await thread.call('state', undefined)).events, 1)
  await thread.close()
})
