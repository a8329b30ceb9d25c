// The calls of calls.txt, with the answers that Svix's server gave (record.ts), compared field by field.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEndpointId } from '../../../src/emitting/svix/ids.ts'
import { adminKey, onEachEngine, started } from '../../harness/index.ts'
import { startEmitting } from '../harness.ts'
import { accepted, differencesOf, explaining, type Difference } from './differences.ts'
import { startSvixReceiver } from './receiver.ts'
import { runCalls, type Answer } from './run-calls.ts'

onEachEngine("Calls of Svix's API", (engine) => {
  const receiver = started(startSvixReceiver)
  const service = started(() => startEmitting(engine))

  test('are answered as its server answers them', async () => {
    const recorded = readFileSync(join(import.meta.dirname, 'answers.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
    const answers = await runCalls({
      url: service.baseUrl,
      token: adminKey,
      receiver: receiver.url,
      async onSaved(name, value) {
        if (name !== 'failing') return
        // As record.ts wants it of Svix's server: no second attempt while the calls run.
        const json = { retrySchedule: [0, 3_600] }
        const { status } = await service.admin(`/subscribers/${readEndpointId(value)}`, {
          method: 'PATCH',
          json,
        })
        assert.equal(status, 200)
      },
    })
    assert.equal(answers.length, recorded.length)
    const differences = recorded.flatMap((line, index) =>
      compare(JSON.parse(line) as Answer, answers[index]!),
    )
    const unexplained = differences.filter((one) => explaining(one).length === 0)
    assert.deepEqual(unexplained, [])
    const used = new Set(differences.flatMap(explaining))
    assert.deepEqual(
      accepted.filter((one) => !used.has(one)),
      [],
    )
  })
})

function compare(theirs: Answer, ours: Answer): Difference[] {
  assert.equal(ours.call, theirs.call)
  const differences =
    theirs.status === ours.status
      ? [...differencesOf(theirs.body, ours.body)]
      : [{ at: 'status', theirs: theirs.status, ours: ours.status }]
  return differences.map(({ at, theirs: their, ours: our }) => ({
    call: theirs.call,
    at,
    theirs: their,
    ours: our,
  }))
}
