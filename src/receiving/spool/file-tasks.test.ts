import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { packEvents } from '../event-rows.ts'
import { open, type FileTasks } from './file-tasks.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-file-tasks-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function openWith(name: string, events: number): FileTasks {
  const tasks = open({ file: join(folder, name), maxBytes: 1024 * 1024 })
  add(tasks, events)
  return tasks
}

function add(tasks: FileTasks, count: number): void {
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
  assert.ok(tasks.append(packEvents(events)))
}

test('portions have different events, and later ones may be removed first', () => {
  const tasks = openWith('ahead.db', 6)
  assert.deepEqual(
    [tasks.read(2).seqs, tasks.read(2).seqs],
    [
      [1, 2],
      [3, 4],
    ],
  )
  tasks.remove({ from: 3, to: 4 })
  assert.deepEqual(tasks.read(9).seqs, [5, 6])
  assert.deepEqual(tasks.read(9).seqs, [])
  add(tasks, 1)
  assert.deepEqual(tasks.read(9).seqs, [7], 'an event that came later is read')
  assert.equal(tasks.state().events, 5, 'events that are held are still there')
  tasks.close()
})

test('portions that were given back are read again, the oldest first', () => {
  const tasks = openWith('given-back.db', 7)
  for (let portion = 0; portion < 3; portion += 1) tasks.read(2)
  tasks.giveBack({ from: 3, to: 4 })
  tasks.remove({ from: 5, to: 6 })
  tasks.giveBack({ from: 1, to: 2 })
  assert.deepEqual(tasks.read(3).seqs, [1, 2, 3])
  assert.deepEqual(tasks.read(9).seqs, [4, 7], 'and not those that were removed')
  assert.deepEqual(tasks.read(9).seqs, [])
  tasks.close()
})

test('a portion that cannot be removed is read again', () => {
  const tasks = openWith('not-removed.db', 3)
  tasks.read(2)
  const other = new DatabaseSync(join(folder, 'not-removed.db'))
  other.exec('begin immediate')
  assert.throws(() => tasks.remove({ from: 1, to: 2 }), { name: 'StorageUnavailable' })
  other.exec('rollback')
  other.close()
  assert.deepEqual(tasks.read(2).seqs, [1, 2])
  tasks.remove({ from: 1, to: 2 })
  assert.equal(tasks.state().events, 1)
  tasks.close()
})
