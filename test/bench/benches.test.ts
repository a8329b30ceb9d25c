// A few requests of each bench, so that they still run when they are needed. Rates are not looked at here.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { acknowledge } from '../../bench/acknowledge.ts'
import { authorize } from '../../bench/authorize.ts'
import { deliver } from '../../bench/deliver.ts'
import { depth } from '../../bench/depth.ts'
import { emit } from '../../bench/emit.ts'
import { forwardAuth } from '../../bench/forward-auth.ts'
import { removeFolders, type EngineName } from '../../bench/harness/databases.ts'
import { lists } from '../../bench/lists.ts'
import type { Bench, Scale } from '../../bench/measure/bench.ts'
import { asMarkdown, asText } from '../../bench/report/format.ts'
import { pages } from '../../bench/pages.ts'
import { processing } from '../../bench/process.ts'
import { sizing } from '../../bench/sizing.ts'
import { start } from '../../bench/start.ts'

after(removeFolders)

const postgresServer = process.env['TEST_DATABASE_URL']

/** One engine each: what differs between the engines is little, and starting services is what takes the time. */
const trials: readonly (readonly [Bench, EngineName])[] = [
  [acknowledge, 'sqlite'],
  [authorize, 'sqlite'],
  [deliver, 'sqlite'],
  [depth, postgresServer === undefined ? 'sqlite' : 'postgres'],
  [emit, 'sqlite'],
  [forwardAuth, 'sqlite'],
  [lists, postgresServer === undefined ? 'sqlite' : 'postgres'],
  [pages, postgresServer === undefined ? 'sqlite' : 'postgres'],
  [processing, postgresServer === undefined ? 'sqlite' : 'postgres'],
  [sizing, 'sqlite'],
  [start, 'sqlite'],
]

for (const [bench, engine] of trials) {
  test(`the bench ${bench.name} runs, tells its steps beforehand and measures something`, async () => {
    const scale: Scale = { rounds: 1, warmUp: 0, size: 0.002, engines: [engine], rivals: false }
    let steps = 0
    const step = (): void => void (steps += 1)
    const outcome = await bench.run({ scale, postgresServer, profile: () => undefined, step })
    assert.equal(steps, bench.plan(scale).steps)
    assert.ok(outcome.figures.length > 0)
    for (const { name, rounds } of outcome.figures)
      assert.ok(
        rounds.every((value) => value > 0),
        name,
      )
    assert.match(asText(outcome), /median/)
    assert.match(asMarkdown(outcome), /^\| /)
  })
}
