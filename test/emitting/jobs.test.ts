// GET /jobs: the jobs of all subscribers and of received events.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { startJob } from '../../src/events/jobs.ts'
import type { Row } from '../../src/storage/tables.ts'
import { onEachEngine, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'

type Page = AnswerTo<'GET /jobs'>

onEachEngine('the list of jobs', (engine) => {
  const made: Row<'jobs'>[] = []
  const service = startedService(engine, () => ({ parts: { roles: { http: true, workers: false } } }))
  before(async () => {
    const filters: [Row<'jobs'>['kind'], number][] = [
      ['replay', 10],
      ['reprocess', 7],
      ['replay', 0],
      ['reprocess', 3],
    ]
    for (const [kind, total] of filters)
      made.unshift(
        await service.database.transaction((tx) => startJob(tx, { kind, filter: {}, total }, Date.now())),
      )
  })

  const read = async (query = ''): Promise<Page> => {
    const answer = await service.admin(`/jobs${query}`)
    assert.equal(answer.status, 200, query)
    return (await answer.json()) as Page
  }
  const ids = ({ data }: Page): string[] => data.map(({ id }) => id)

  test('newest first, with progress, in pages, by kind and status', async () => {
    const all = await read()
    assert.deepEqual(
      all.data.map(({ id, kind, status, total, done }) => ({ id, kind, status, total, done })),
      made.map(({ id, kind, status, total, done }) => ({ id, kind, status, total, done })),
    )
    const walked: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await read(`?limit=3${cursor && `&cursor=${cursor}`}`)
      walked.push(...ids(page))
      cursor = page.pageInfo.nextCursor
    }
    assert.deepEqual(walked, ids(all))
    assert.deepEqual(ids(await read('?kind=replay')), [made[1]!.id, made[3]!.id])
    assert.deepEqual(ids(await read('?status=done')), [made[1]!.id])
    assert.equal((await service.admin('/jobs?status=lost')).status, 400)
    const { nextCursor } = (await read('?limit=1')).pageInfo
    assert.equal((await service.admin(`/jobs?kind=replay&cursor=${nextCursor!}`)).status, 400)
  })

  test('a key sees the kinds of its scopes', async () => {
    const readWith = async (...scopes: string[]): Promise<string[]> => {
      const answer = await service.admin('/keys', { method: 'POST', json: { name: 'a', scopes } })
      const { key } = (await answer.json()) as { key: string }
      const jobs = await service.fetch('/jobs', { headers: { authorization: `Bearer ${key}` } })
      return jobs.status === 200 ? ids((await jobs.json()) as Page) : [String(jobs.status)]
    }
    assert.deepEqual(await readWith('subscribers:read'), [made[1]!.id, made[3]!.id])
    assert.deepEqual(await readWith('webhooks:read'), [made[0]!.id, made[2]!.id])
    assert.deepEqual(await readWith('webhooks:read', 'subscribers:read'), ids(await read()))
    assert.deepEqual(await readWith('events:read'), ['403'])
  })
})
