import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { insertSampleData } from '../../src/demo/sample-data.ts'
import { onEachEngine, startedService } from '../harness/index.ts'
import { clear, insertPosts, post, readList } from './seed.ts'

const now = Date.parse('2026-03-01T10:00:00Z')

onEachEngine('sample data', (engine) => {
  const service = startedService(engine)
  beforeEach(() => clear(service.database))

  test('empty tables are filled once', async () => {
    // A demo service may have filled them already: `clear` has emptied them.
    assert.equal(await insertSampleData(service.database, now), true)
    assert.equal(await insertSampleData(service.database, now), false)
    assert.equal((await readList(service, '/products')).data.length, 32)
    assert.equal((await readList(service, '/api/posts?limit=100')).data.length, 24)
  })

  test('existing rows stay unchanged', async () => {
    await insertPosts(service.database, [post('mine')])
    assert.equal(await insertSampleData(service.database, now), false)
    assert.equal((await readList(service, '/products')).data.length, 0)
  })
})
