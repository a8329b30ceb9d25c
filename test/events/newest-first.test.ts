// GET /events?order=desc: the newest first, so that a page that shows the log needs not read all of it.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { postWebhook } from '../receiving/harness.ts'

type Page = AnswerTo<'GET /events'>

onEachEngine('the event log, newest first', (engine) => {
  const service = startedService(engine)
  before(async () => {
    for (let number = 1; number <= 7; number += 1) await postWebhook(service, { id: `e${number}`, type: 'x' })
  })

  const read = async (query: string): Promise<Page> => {
    const response = await service.fetch(`/events?${query}`)
    assert.equal(response.status, 200)
    return (await response.json()) as Page
  }
  const ids = ({ data }: Page): string => data.map(({ eventId }) => eventId).join(' ')

  test('other values of `order` ascend, and invalid cursors are refused', async () => {
    for (const order of ['', 'asc', 'DESC', 'desc;drop', '1'])
      assert.equal(ids(await read(`order=${order}&limit=2`)), 'e1 e2', order)
    assert.equal(ids(await read('order=desc&cursor=0')), '')
    assert.equal(ids(await read(`order=desc&limit=1&cursor=${Number.MAX_SAFE_INTEGER}`)), 'e7')
    const refused = await service.fetch('/events?order=desc&cursor=-1')
    assert.equal(refused.status, 400)
    assert.equal(((await refused.json()) as { code: string }).code, 'invalid-cursor')
  })

  test('a reader that follows from its newest event misses none', async () => {
    const newest = (await read('order=desc&limit=1')).data[0]!.id
    await postWebhook(service, { id: 'e8', type: 'x' })
    assert.equal(ids(await read(`cursor=${newest}`)), 'e8')
  })
})
