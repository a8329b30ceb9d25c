// Compiled by list-types.test.ts: an error that is expected and does not come is an error, too.
import { createListClient, type ListRow } from '../../../packages/client/src/api/index.ts'
import { useList } from '../../../packages/client/src/react/use-list.ts'
import type { Lists } from './lists.ts'

export const clientOf = (url: string) => createListClient<Lists>({ url })
type Client = ReturnType<typeof clientOf>

/** Fails to compile when the types differ. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_same: Same<A, B>): void => undefined

export async function rightUses(client: Client): Promise<void> {
  for await (const row of client.list('/orders', { status: ['open'], sort: '-total' })) {
    same<typeof row.status, 'open' | 'paid' | 'a,"b'>(true)
    same<typeof row.note, string | null>(true)
    same<typeof row.id, string>(true)
    same<typeof row.weight, number | null>(true)
    same<typeof row.extra, unknown>(true)
    // @ts-expect-error: not expanded
    void row.item
    // @ts-expect-error: hidden
    void row.customer
  }
  const filters = { since: new Date(0), id: [9007199254740993n, '2'], without: true, text: 'a', city: 'Bonn' }
  const chosen = client.list('/orders', { ...filters, fields: ['id', 'total'], expand: ['item', 'lines'] })
  for await (const row of chosen) {
    same<keyof typeof row, 'id' | 'total' | 'item' | 'lines'>(true)
    same<typeof row.item, { name: string } | null>(true)
    same<(typeof row.lines)['data'], { position: number }[]>(true)
  }
  const page = await client.page('/orders', { page: 2, count: 'none', sort: ['-total', 'placedAt'] })
  if ('pageInfo' in page) same<typeof page.pageInfo.nextCursor, string | null>(true)
  else same<typeof page.pagination.page, number>(true)
  const items = await client.page('/items', { cursor: 'a' })
  same<typeof items.data, ListRow<Lists['/items']>[]>(true)
  const one = await client.one('/orders', '1', { fields: ['total'] })
  same<typeof one.total, number>(true)
}

export function wrongUses(client: Client): void {
  // @ts-expect-error: no such list
  client.list('/order')
  // @ts-expect-error: no such filter
  client.list('/orders', { stauts: ['open'] })
  // @ts-expect-error: no such value
  client.list('/orders', { status: ['opened'] })
  // @ts-expect-error: `in` takes an array
  client.list('/orders', { status: 'open' })
  // @ts-expect-error: `equals` takes one value
  client.list('/orders', { only: ['open'] })
  // @ts-expect-error: a number
  client.list('/orders', { minTotal: '5' })
  // @ts-expect-error: not beyond 2^53 as a number
  client.list('/orders', { id: [1] })
  // @ts-expect-error: the list does not sort by it
  client.list('/orders', { sort: '-status' })
  // @ts-expect-error: the list does not sort by one of them
  client.list('/orders', { sort: ['total', 'status'] })
  // @ts-expect-error: no such field
  client.list('/orders', { fields: ['id', 'totl'] })
  // @ts-expect-error: no such expansion
  client.list('/orders', { expand: ['items'] })
  // @ts-expect-error: pages are the matter of `list`
  client.list('/orders', { cursor: 'a' })
  // @ts-expect-error: only pages by keyset
  void client.page('/items', { page: 2 })
  // @ts-expect-error: it has no filters
  client.list('/items', { name: 'a' })
  // @ts-expect-error: it has no sorts
  client.list('/items', { sort: 'name' })
  // @ts-expect-error: it has no expansions
  client.list('/items', { expand: ['item'] })
  // @ts-expect-error: `one` is not declared
  void client.one('/items', 'a')
}

export function UseOfHook({ client }: { client: Client }): void {
  const filters = { status: ['open'], sort: '-total' } as const
  const { data = [], hasNextPage } = useList(client, '/orders', {
    ...filters,
    fields: ['id'],
    expand: ['item'],
  })
  same<keyof (typeof data)[0], 'id' | 'item'>(true)
  same<typeof hasNextPage, boolean>(true)
  const { data: whole = [] } = useList(client, '/orders', filters, { key: 'id' })
  same<(typeof whole)[0], ListRow<Lists['/orders']>>(true)
  // @ts-expect-error: no such field
  useList(client, '/orders', filters, { key: 'ident' })
  // @ts-expect-error: no such filter
  useList(client, '/orders', { stauts: ['open'] })
}
