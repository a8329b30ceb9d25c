// The short form of `npm run fuzz -- --lists`: all pairs of two dimensions' values, and some combinations of a fixed seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { allPairs, compareLists, DeclaredModel } from './declared-model.ts'
import { listDatabase } from './model.ts'

const pairs = allPairs(46)

onEachEngine('declared lists against a plain evaluation', (engine) => {
  const [ofPairs, ofRandom] = [listDatabase(engine), listDatabase(engine)]

  test(`all pairs, in ${pairs.length} combinations`, async () => {
    const model = await DeclaredModel.on(ofPairs.database)
    for (const [index, one] of pairs.entries()) await model.check(one, 46, index)
  })

  test('random combinations of a fixed seed', async () => {
    assert.equal(await compareLists(ofRandom.database, { seed: 46, count: 100 }), 100)
  })
})
