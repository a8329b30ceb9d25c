import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../errors.ts'
import { createLog } from '../../telemetry/log.ts'
import { ProblemLog } from './problem-details.ts'

function logged(): { lines: () => Record<string, unknown>[]; log: ReturnType<typeof createLog> } {
  const texts: string[] = []
  const log = createLog('info', { write: (text: string) => void texts.push(text) })
  return { log, lines: () => texts.map((text) => JSON.parse(text) as Record<string, unknown>) }
}

test('refused requests have one line a second for each code, which counts the others', () => {
  let now = 10_000
  const { log, lines } = logged()
  const problemLog = new ProblemLog({ now: () => now })
  const refuse = (code: 'storage-unavailable' | 'overloaded'): void => {
    const problem = new Problem(code, { cause: new Error('no route to host') })
    problemLog.report(log, problem, problem)
  }
  for (let count = 0; count < 500; count += 1) refuse('storage-unavailable')
  refuse('overloaded')
  now += 1_000
  refuse('storage-unavailable')
  now += 1_000
  refuse('storage-unavailable')
  assert.deepEqual(
    lines().map(({ code, more, err }) => [code, more, (err as { message: string }).message]),
    [
      ['storage-unavailable', undefined, 'no route to host'],
      ['overloaded', undefined, 'no route to host'],
      ['storage-unavailable', 499, 'no route to host'],
      ['storage-unavailable', undefined, 'no route to host'],
    ],
  )
})

test('each unknown error has its line, and what a client caused has none', () => {
  const { log, lines } = logged()
  const problemLog = new ProblemLog({ now: () => 0 })
  for (const message of ['first', 'second']) {
    const error = new Error(message)
    problemLog.report(log, new Problem('internal', { cause: error }), error)
  }
  problemLog.report(log, new Problem('not-found'), new Problem('not-found'))
  assert.deepEqual(
    lines().map(({ msg, err }) => [msg, (err as { message: string }).message]),
    [
      ['request failed', 'first'],
      ['request failed', 'second'],
    ],
  )
})
