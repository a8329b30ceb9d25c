// A list that goes both ways: a page whose rows were deleted since its cursor was given out still leads to the rows that are there.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { listService } from './service.ts'

interface Body {
  data: { word: string }[]
  pageInfo: {
    hasNextPage: boolean
    nextCursor: string | null
    hasPreviousPage: boolean
    previousCursor: string | null
  }
}

const words = list({
  path: '/words',
  table: 'words',
  access: 'public',
  fields: { id: { type: 'integer' }, word: { type: 'text' } },
  key: 'id',
  order: ['-word'],
  sort: ['id', 'word'],
  filters: { word: 'prefix' },
})

onEachEngine('a page whose rows were deleted', (engine) => {
  const { run, ...opened } = listService(
    engine,
    [words],
    ['create table words (id int not null primary key, word varchar(9))'],
  )
  beforeEach(async () => {
    await run(
      'delete from words',
      `insert into words values (1, 'h'), (2, 'g'), (3, 'f'), (4, 'e'), (5, 'd'), (6, 'c')`,
    )
  })

  const get = (cursor: string | null, query = ''): Promise<Response> =>
    opened.service.fetch(`/words?limit=2${query}${cursor === null ? '' : `&cursor=${cursor}`}`)
  const read = async (cursor: string | null): Promise<Body & { text: string; info: Body['pageInfo'] }> => {
    const response = await get(cursor)
    assert.equal(response.status, 200)
    const body = (await response.json()) as Body
    return { ...body, text: body.data.map(({ word }) => word).join(''), info: body.pageInfo }
  }
  async function second(): Promise<Body['pageInfo']> {
    const page = await read((await read(null)).info.nextCursor)
    assert.equal(page.text, 'fe')
    return page.info
  }

  test('before the first row: the next page is the first one', async () => {
    const { previousCursor } = await second()
    await run('delete from words where id < 3')
    const empty = await read(previousCursor)
    assert.equal(empty.text, '')
    assert.deepEqual([empty.info.hasPreviousPage, empty.info.previousCursor], [false, null])
    assert.equal(empty.info.hasNextPage, true)
    assert.match((await get(previousCursor)).headers.get('link') ?? '', /^<[^>]*>; rel="next"$/)
    const first = await read(empty.info.nextCursor)
    assert.deepEqual([first.text, first.info.previousCursor], ['fe', null])
    assert.equal((await read(first.info.nextCursor)).text, 'dc')
    await run(`insert into words values (7, 'i')`)
    assert.equal((await read(empty.info.nextCursor)).text, 'if', 'the first page as it is now')
  })

  test('after the last row: the previous page is the last one', async () => {
    const { nextCursor } = await second()
    await run('delete from words where id > 4')
    const empty = await read(nextCursor)
    assert.equal(empty.text, '')
    assert.deepEqual([empty.info.hasNextPage, empty.info.nextCursor], [false, null])
    assert.equal(empty.info.hasPreviousPage, true)
    assert.match((await get(nextCursor)).headers.get('link') ?? '', /^<[^>]*>; rel="prev"$/)
    const last = await read(empty.info.previousCursor)
    assert.deepEqual([last.text, last.info.nextCursor], ['fe', null])
    assert.equal((await read(last.info.previousCursor)).text, 'hg')
  })

  test('a list without rows leads nowhere', async () => {
    const { previousCursor, nextCursor } = await second()
    await run('delete from words')
    for (const cursor of [previousCursor, nextCursor]) {
      const { text, info } = await read(cursor)
      assert.deepEqual([text, info.nextCursor, info.previousCursor], ['', null, null])
    }
  })

  test('the cursor of an empty page belongs to its filters and sort', async () => {
    const { previousCursor, nextCursor } = await second()
    await run('delete from words where id in (1, 2, 5, 6)')
    const before = (await read(previousCursor)).info.nextCursor
    const after = (await read(nextCursor)).info.previousCursor
    for (const cursor of [before, after]) {
      assert.equal((await get(cursor)).status, 200)
      for (const query of ['&sort=word', '&word=f'])
        assert.equal((await get(cursor, query)).status, 400, query)
    }
  })
})
