import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { BodyBudget } from '../../http/body/budget.ts'
import { bodyPace } from '../../http/body/counted-body.ts'
import type { Database } from '../../storage/database.ts'
import type { PendingResults } from './emitter.ts'
import type { NewEvent } from './event.ts'
import { emitNdjson, type NdjsonEventsParts } from './ndjson-events.ts'

test('without memory for the next line, the lines that are complete are emitted and answered', async () => {
  const clock = { now: () => 0, after: () => () => undefined }
  const emitted: string[] = []
  const emitEach = (_tx: unknown, _last: unknown, events: readonly NewEvent[]): Promise<PendingResults> => {
    emitted.push(...events.map(({ type }) => type))
    const results = events.map((_, index) => ({ id: index + 1, eventId: `e-${index + 1}`, committed: [] }))
    return Promise.resolve({ results: Promise.resolve(results) })
  }
  const database = { engine: 'sqlite', transaction: (work: (tx: unknown) => unknown) => work({}) }
  const parts: NdjsonEventsParts = {
    database: database as unknown as Database,
    emitter: { emitEach },
    announce: () => undefined,
    clock,
    budget: new BodyBudget({ bytes: 100, reserve: 10, bodies: 10, pace: bodyPace }, clock),
    network: () => 'n',
    lineLimit: 1_000,
  }
  const body = Readable.from([
    Buffer.from(`{"type":"a","data":1}\n{"type":"b","data":2}\n{"type":"c","data":"${'x'.repeat(200)}`),
    Buffer.from('"}\n'),
  ])
  const answers: unknown[] = []
  for await (const text of emitNdjson(body, parts))
    for (const line of text.trim().split('\n')) {
      const { line: number, status, code } = JSON.parse(line) as Record<string, unknown>
      answers.push([number, status, code])
    }
  assert.deepEqual(emitted, ['a', 'b'])
  assert.deepEqual(answers, [
    [1, 202, undefined],
    [2, 202, undefined],
    [3, 503, 'overloaded'],
  ])
  assert.equal(parts.budget.bytes, 0)
})
