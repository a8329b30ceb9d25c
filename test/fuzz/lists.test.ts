// Declared lists against a plain evaluation, in as many combinations as take minutes. listing/declared-model.test.ts is the short form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { compareLists } from '../listing/declared-model.ts'
import { listDatabase } from '../listing/model.ts'

onEachEngine('declared lists in random combinations', (engine) => {
  const opened = listDatabase(engine)

  test('5,000 of them', async (context) => {
    const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    context.diagnostic(`npm run fuzz -- --lists --engine ${engine.name} --seed ${seed}`)
    assert.equal(await compareLists(opened.database, { seed, count: 5_000 }), 5_000)
  })
})
