// A short run of the fuzzer on every test: `npm run fuzz` is the long one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, scoped } from '../harness/index.ts'
import { fuzz } from './campaign.ts'
import { wrongAnswer } from './conversation.ts'
import { sources } from './sources.ts'
import { Target } from './target.ts'

/** The sources that something was accepted from. */
async function receivedFrom(url: string): Promise<string[]> {
  await using database = scoped(await openDatabase(url, { onError: (error) => assert.fail(String(error)) }))
  const found = database.reader.selectFrom('events').select('source').distinct()
  const rows = await found.where('direction', '=', 'received').execute()
  return rows.map(({ source }) => source ?? '').toSorted()
}

onEachEngine('fuzzing', (engine) => {
  test('no 5xx, crash, open connection or growth, and valid webhooks are accepted throughout', async () => {
    await using database = await engine.createDatabase()
    await using target = scoped(await Target.start(database.url))
    const { inputs, probes, statuses } = await fuzz(target, { seed: 20_260_301, inputs: 3_000 })
    assert.ok(inputs >= 3_000 && probes >= 5)
    // Rejecting everything would pass the other assertions.
    for (const status of ['200', '400', '401', '404', '405', '413', '415', '431'])
      assert.ok(
        (statuses[status] ?? 0) > 0,
        `nothing was answered with ${status}: ${JSON.stringify(statuses)}`,
      )
    assert.ok(statuses['200']! > inputs / 10, JSON.stringify(statuses))
    await target.stop()
    assert.deepEqual(await receivedFrom(database.url), sources.map(({ name }) => name).toSorted())
  })
})

test('the fuzzer detects planted failures', () => {
  const good = 'HTTP/1.1 200 OK\r\nx: y\r\n\r\n{}HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\r\n'
  assert.equal(wrongAnswer(good), undefined)
  assert.match(wrongAnswer(`${good}HTTP/1.1 500 Internal Server Error\r\n\r\n{}`) ?? '', /^HTTP\/1\.1 500 /)
  assert.match(wrongAnswer('HTTP/1.1 503 Service Unavailable\r\n\r\n{}') ?? '', /^HTTP\/1\.1 503 /)
})
