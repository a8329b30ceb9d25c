import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { SpoolFile, type Spooled } from '../sqlite/spool-file.ts'
import { FileReader, type Range } from './file-reader.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-file-reader-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function open(name: string, events: number): { file: SpoolFile; reader: FileReader } {
  const file = new SpoolFile(join(folder, name))
  add(file, events)
  return { file, reader: new FileReader(file) }
}

function add(file: SpoolFile, count: number): void {
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
  file.add(Array.from({ length: count }, (_, index) => ({ ...event, eventId: `evt_${index}` })))
}

const numbers = (events: readonly Spooled[]): number[] => events.map(({ seq }) => seq)
const rangeOf = (events: readonly Spooled[]): Range => ({ from: events[0]!.seq, upTo: events.at(-1)!.seq })

test('portions are of different events, and later ones may be removed first', () => {
  const { file, reader } = open('ahead.db', 6)
  const [first, second] = [reader.read(2), reader.read(2)]
  assert.deepEqual(
    [numbers(first), numbers(second)],
    [
      [1, 2],
      [3, 4],
    ],
  )
  reader.remove(rangeOf(second))
  assert.deepEqual(numbers(reader.read(9)), [5, 6])
  assert.deepEqual(reader.read(9), [])
  add(file, 1)
  assert.deepEqual(numbers(reader.read(9)), [7], 'what comes later is read')
  assert.equal(file.count, 5, 'events that are held are still there')
  file.close()
})

test('what is given back is read again, oldest first, in whatever order it comes back', () => {
  const { file, reader } = open('given-back.db', 7)
  const [first, second, third] = [reader.read(2), reader.read(2), reader.read(2)]
  reader.giveBack(rangeOf(second))
  reader.remove(rangeOf(third))
  reader.giveBack(rangeOf(first))
  assert.deepEqual(numbers(reader.read(2)), [1, 2])
  assert.deepEqual(numbers(reader.read(1)), [3], 'a part of it')
  assert.deepEqual(numbers(reader.read(9)), [4])
  assert.deepEqual(numbers(reader.read(9)), [7], 'and not what was removed')
  assert.deepEqual(reader.read(9), [])
  file.close()
})

test('a portion that cannot be removed is read again', (context) => {
  const { file, reader } = open('not-removed.db', 3)
  const portion = reader.read(2)
  const failing = context.mock.method(file, 'forgetBetween', () => {
    throw new Error('the disk is full')
  })
  assert.throws(() => reader.remove(rangeOf(portion)), /the disk is full/)
  failing.mock.restore()
  assert.deepEqual(numbers(reader.read(2)), [1, 2])
  reader.remove({ from: 1, upTo: 2 })
  assert.equal(file.count, 1)
  file.close()
})
