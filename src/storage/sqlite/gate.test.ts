import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WritePriority } from '../database.ts'
import { WriteGate } from './gate.ts'

/** Asks for the gate in each priority, then opens it, and tells the order in which it was handed out. */
async function order(gate: WriteGate, asked: readonly WritePriority[]): Promise<WritePriority[]> {
  const release = await gate.acquire('work')
  const served: WritePriority[] = []
  const waits = asked.map(async (priority) => {
    const releaseEvents = await gate.acquire(priority)
    served.push(priority)
    releaseEvents()
  })
  // Work asks a turn of the loop later than the others.
  await new Promise((resolve) => setImmediate(resolve))
  release()
  await Promise.all(waits)
  return served
}

test('serves the most urgent priority first', async () => {
  assert.deepEqual(await order(new WriteGate(), ['work', 'request', 'acknowledge']), [
    'acknowledge',
    'request',
    'work',
  ])
})

test('the least urgent writers are not starved by urgent ones', async () => {
  const urgent = Array.from({ length: 30 }, (): WritePriority => 'acknowledge')
  const served = await order(new WriteGate(), ['work', ...urgent])
  assert.ok(served.indexOf('work') < 12, `work was served as number ${served.indexOf('work') + 1}`)
})

test('a double release does not admit two writers', async () => {
  const gate = new WriteGate()
  const first = await gate.acquire('work')
  first()
  await gate.acquire('work')
  first()
  let isAdmitted = false
  void gate.acquire('request').then(() => (isAdmitted = true))
  await new Promise(setImmediate)
  assert.equal(isAdmitted, false)
})

test('a writer of low priority lets the event loop read sockets first', async () => {
  const gate = new WriteGate()
  let read = false
  setImmediate(() => (read = true))
  await gate.acquire('work')
  assert.ok(read)
})
