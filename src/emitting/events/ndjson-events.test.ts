import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { BodyBudget, bodyPace } from '../../http/body/budget.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { Emitted } from './emitter.ts'
import type { NewEvent } from './event.ts'
import { emitNdjson, type NdjsonEventsParts } from './ndjson-events.ts'

describe('a body of NDJSON', () => {
  test('without memory for the next line, the lines that are complete are emitted and answered', async () => {
    const { parts, emitted } = fixture({ bytes: 100 })
    const body = Readable.from([
      Buffer.from(`{"type":"a","data":1}\n{"type":"b","data":2}\n{"type":"c","data":"${'x'.repeat(200)}`),
      Buffer.from('"}\n'),
    ])
    assert.deepEqual(await answersTo(body, parts), [
      [1, 202, undefined],
      [2, 202, undefined],
      [3, 503, 'overloaded'],
    ])
    assert.deepEqual(emitted, ['a', 'b'])
    assert.equal(parts.budget.bytes, 0)
  })

  for (const [what, change] of [
    ['is over', 25_000],
    ['cannot be told, because the clock was set back', -3_600_000],
  ] as const)
    test(`the call ends when its time ${what}`, async () => {
      let now = 0
      const { parts } = fixture({ bytes: 1_000, clock: { now: () => now, after: () => () => undefined } })
      const body = Readable.from(
        (async function* () {
          await Promise.resolve()
          yield Buffer.from('{"type":"a","data":1}\n')
          now += change
          yield Buffer.from('{"type":"b","data":2}\n')
          yield Buffer.from('{"type":"c","data":3}\n')
        })(),
      )
      const answers = await answersTo(body, parts)
      assert.deepEqual(answers.at(-1)!.slice(1), [408, 'request-timeout'])
    })
})

const stopped: Clock = { now: () => 0, after: () => () => undefined }

function fixture({ bytes, clock = stopped }: { bytes: number; clock?: Clock }) {
  const emitted: string[] = []
  const commitEach = (events: readonly (NewEvent | Problem)[]): Promise<Emitted[]> => {
    emitted.push(...events.map((event) => (event instanceof Problem ? event.code : event.type)))
    const results = events.map((_, index) => ({
      id: index + 1,
      eventId: `e-${index + 1}`,
      isNew: true,
      at: 0,
      committed: [],
    }))
    return Promise.resolve(results)
  }
  const parts: NdjsonEventsParts = {
    emitter: { commitEach },
    clock,
    budget: new BodyBudget({ bytes, reserve: 10, bodies: 10, pace: bodyPace }, clock),
    network: () => 'n',
    lineLimit: 1_000,
    headers: null,
  }
  return { parts, emitted }
}

/** Number, status and code of each line of the answer. */
async function answersTo(body: Readable, parts: NdjsonEventsParts): Promise<unknown[][]> {
  const answers: unknown[][] = []
  for await (const text of emitNdjson(body, parts))
    for (const line of text.trim().split('\n')) {
      const { line: number, status, code } = JSON.parse(line) as Record<string, unknown>
      answers.push([number, status, code])
    }
  return answers
}
