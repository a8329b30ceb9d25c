// useList with React, its renderer and TanStack Query, against the service.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createListClient } from '../../packages/client/src/api/index.ts'
import { list } from '../../src/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { engines, scoped, started, startedService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'

interface Lists {
  '/tasks': {
    row: { id: number; rank: number }
    expansions: object
    filters: { rank?: readonly number[] | undefined }
    sorts: 'rank'
    pages: 'cursor'
    key: number
    one: false
  }
}

interface React {
  createElement: (type: unknown, props: object | null, child?: unknown) => unknown
}
interface Renderer {
  create: (element: unknown) => { unmount: () => void }
}
interface TanStack {
  QueryClient: new () => { clear: () => void }
  QueryClientProvider: unknown
}
// Without the types of React, which the project does not depend on.
const load = (name: string): Promise<unknown> => import(name)
const { createElement } = (await load('react')) as React
const { create } = (await load('react-test-renderer')) as Renderer
const { QueryClient, QueryClientProvider } = (await load('@tanstack/react-query')) as TanStack
const { useList } = await import('../../packages/client/src/react/use-list.ts')

const tasks = list({
  path: '/tasks',
  table: 'tasks',
  access: 'public',
  fields: { id: { type: 'integer' }, rank: { type: 'integer' } },
  key: 'id',
  order: ['rank'],
  sort: ['rank'],
  filters: { rank: 'in' },
})

describe('useList', () => {
  const home = started(() => engines[0]!.createMigratedDatabase())
  const run = async (...statements: string[]): Promise<void> => {
    await using database = scoped(await openDatabase(home.url))
    await database.transaction(async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx)
    })
  }
  before(() =>
    run(
      'create table tasks (id bigint primary key not null, rank integer not null)',
      'insert into tasks values (1, 10), (2, 20), (3, 30), (4, 40), (5, 50)',
    ),
  )
  const service = startedService(engines[0]!, () => ({
    databaseUrl: home.url,
    config: { listing: { lists: [tasks] } },
  }))

  /** Renders a component with the hook; `shown` is what it last returned. */
  function mounted(parameters: { limit?: number; rank?: readonly number[] }) {
    const client = createListClient<Lists>({ url: service.baseUrl, retries: 0 })
    let last: ReturnType<typeof useList<Lists, '/tasks'>>
    const Tasks = (): null => {
      last = useList(client, '/tasks', { sort: 'rank', ...parameters }, { key: 'id' })
      return null
    }
    const queries = new QueryClient()
    const page = createElement(QueryClientProvider, { client: queries }, createElement(Tasks, null))
    const root = create(page)
    return {
      shown: () => last,
      shows: (ids: string): Promise<unknown> =>
        eventually(() => last?.data?.map(({ id }) => id).join() === ids, ids),
      fails: (): Promise<unknown> => eventually(() => last?.status === 'error', 'an error'),
      [Symbol.dispose]() {
        root.unmount()
        queries.clear()
      },
    }
  }

  test('pages follow each other, and writes between them neither shift rows nor show one twice', async () => {
    using page = mounted({ limit: 2 })
    await page.shows('1,2')
    assert.equal(page.shown().hasNextPage, true)
    // Before the rows that are shown: one that is new, and one that is moved behind them.
    await run('insert into tasks values (6, 5)', 'update tasks set rank = 35 where id = 1')
    await page.shown().fetchNextPage()
    await page.shows('1,2,3')
    assert.equal(page.shown().data?.[0]?.rank, 35, 'in its place, with its new value')
    await run('delete from tasks where id = 2')
    await page.shown().fetchNextPage()
    await page.shows('1,2,3,4,5')
    assert.equal(page.shown().hasNextPage, false)
    await page.shown().refetch()
    await page.shows('6,3,1,4,5')
  })

  test('an error of the service is the error of the query', async () => {
    using page = mounted({ rank: ['many' as unknown as number] })
    await page.fails()
    assert.equal((page.shown().error as unknown as { code: string }).code, 'invalid-parameter')
  })
})
