import type { Database } from '../../src/storage/database.ts'
import type { Row } from '../../src/storage/tables.ts'
import type { TestService } from '../harness/service.ts'

/** A product with what a test does not care about filled in. */
export function product(id: string, values: Partial<Row<'products'>> = {}): Row<'products'> {
  return {
    id,
    category: 'tools',
    price: 1,
    stock: 1,
    name: id,
    created_at: '2026-01-01T00:00:00.000000Z',
    ...values,
  }
}

export function post(id: string, created_at = '2026-01-01T00:00:00.000000Z'): Row<'posts'> {
  return { id, title: `Title of ${id}`, body: 'Text', created_at }
}

export async function insertProducts(database: Database, rows: readonly Row<'products'>[]): Promise<void> {
  await database.transaction((tx) => tx.insertInto('products').values(rows).execute())
}

export async function insertPosts(database: Database, rows: readonly Row<'posts'>[]): Promise<void> {
  await database.transaction((tx) => tx.insertInto('posts').values(rows).execute())
}

/** Users `u000`, `u001`, … */
export async function insertUsers(database: Database, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: `u${String(index).padStart(3, '0')}`,
    email: index % 7 === 0 ? null : `user${index}@example.com`,
    name: `User ${index}`,
    provider: 'google',
    provider_id: String(index),
    role: 'user' as const,
    blocked_at: null,
    created_at: 1_767_225_600_000 + index,
  }))
  await database.transaction((tx) => tx.insertInto('users').values(rows).execute())
}

/** Emitted events `e000`, `e001`, … */
export async function insertEvents(database: Database, count: number): Promise<void> {
  // The retention removes old events in a test that takes longer than a minute.
  const begin = Date.now() - count
  const rows = Array.from({ length: count }, (_, index) => ({
    event_id: `e${String(index).padStart(3, '0')}`,
    direction: 'emitted' as const,
    source: null,
    type: 'listed',
    content_type: 'application/json',
    payload: Buffer.from('{}'),
    headers: null,
    created_at: begin + index,
  }))
  await database.transaction((tx) => tx.insertInto('events').values(rows).execute())
}

export async function clear(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    for (const table of ['products', 'posts', 'users'] as const) await tx.deleteFrom(table).execute()
  })
}

type Item = Record<string, unknown>

export interface ListBody {
  data: Item[]
  pageInfo: { hasNextPage: boolean; nextCursor: string | null; previousCursor: string | null }
  pagination: { page: number; limit: number; total: number; totalPages: number; hasNext: boolean }
}

export async function readList(service: TestService, path: string): Promise<ListBody> {
  const response = await service.admin(path)
  if (response.status !== 200)
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as ListBody
}

/** Follows nextCursor to the end and returns the pages' items. A walk that does not end fails. */
export async function walk(service: TestService, path: string): Promise<Item[][]> {
  const pages: Item[][] = []
  let cursor: string | null = null
  do {
    if (pages.length > 500) throw new Error(`the walk over ${path} does not end`)
    const at: string = cursor === null ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`
    const { data, pageInfo } = await readList(service, at)
    pages.push(data)
    cursor = pageInfo.nextCursor
  } while (cursor !== null)
  return pages
}

/** The ids of all items of a list in four ways: by cursor, back from the last page, by page number, and exported. */
export async function allWalks(
  service: TestService,
  path: string,
  parameters: string,
  limit: number,
): Promise<Record<'forward' | 'back' | 'numbered' | 'exported', unknown[]>> {
  const query = `${path}?limit=${limit}&${parameters}`
  const forward: Item[] = []
  let page = await readList(service, query)
  for (; ; page = await readList(service, `${query}&cursor=${page.pageInfo.nextCursor}`)) {
    forward.push(...page.data)
    if (page.pageInfo.nextCursor === null) break
  }
  const back: Item[] = []
  for (;;) {
    back.unshift(...page.data)
    const { previousCursor } = page.pageInfo
    if (previousCursor === null) break
    page = await readList(service, `${query}&cursor=${previousCursor}`)
  }
  const numbered: Item[] = []
  for (let number = 1, more = true; more; number += 1) {
    const { data, pagination } = await readList(service, `${query}&page=${number}`)
    numbered.push(...data)
    more = pagination.hasNext
  }
  const lines = await (await service.admin(`${path}.ndjson?${parameters}`)).text()
  const exported = lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Item)
  const ids = (items: readonly Item[]) => items.map(({ id }) => id)
  return { forward: ids(forward), back: ids(back), numbered: ids(numbered), exported: ids(exported) }
}
