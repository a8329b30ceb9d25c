import { oncePer } from '../runtime/bounded-cache.ts'
import { collated, type Expansion, fieldOf, sortKeyOf, type ListDeclaration, type SortKey } from './list.ts'

/**
 * Reads the parameter `sort`: comma-separated fields, descending with a leading `-`. Fields that the list does not allow are
 * dropped, and a repeated field counts once, where it comes first. Without a field, the list's default order is used. The rest of
 * the unique key is always last, so that every order is total, in the direction of the last field. One index then serves an order and its
 * reverse.
 */
export function readOrder(list: ListDeclaration, sort: string | undefined): readonly SortKey[] {
  const requested = list.sort.length === 0 || sort === undefined ? [] : readKeys(list, sort)
  return requested.length > 0 ? withUniqueKey(list, requested) : defaultOrder(list)
}

/** The order of a request without `sort`. Returns the same array each time. */
export const defaultOrder: (list: ListDeclaration) => readonly SortKey[] = oncePer((list) =>
  withUniqueKey(
    list,
    list.order.map((text) => sortKeyOf(list, text)),
  ),
)

function withUniqueKey(list: ListDeclaration, given: readonly SortKey[]): readonly SortKey[] {
  const keys = given[0]?.of ? withOtherKey(list, given[0], given[0].of) : given
  const all = [...keys]
  const descending = keys.at(-1)?.descending
  for (const part of list.key)
    if (!keys.some(({ name }) => name === part)) all.push(sortKeyOf(list, descending ? `-${part}` : part))
  if (all.length > keys.length) return all
  // Keys after the unique one break no ties.
  return all.slice(0, all.findLastIndex(({ name }) => list.key.includes(name)) + 1)
}

/**
 * An order by another table's field continues with that table's key, which the list's `from` equals. Rows with equal values but different
 * keys stay separate, so an index of each table serves the order.
 */
function withOtherKey(list: ListDeclaration, first: SortKey, of: Expansion): SortKey[] {
  const others = of.from.map((name, index) => {
    const { collation: _, ...from } = fieldOf(list, name)
    const field = { ...from, column: of.key[index]!, nullable: false }
    return { name, field, descending: first.descending, of }
  })
  return [first, ...others]
}

/** The order as field names, descending with a leading `-`, with collations and the place of nulls. Cursors are bound to it. */
export function writeOrder(order: readonly SortKey[]): string[] {
  return order.map(
    ({ name, field, descending, nulls }) =>
      `${descending ? '-' : ''}${collated(name, field.collation)}${nulls ? ` nulls ${nulls}` : ''}`,
  )
}

/** The order with all directions reversed. */
export function reversed(order: readonly SortKey[]): SortKey[] {
  return order.map(({ descending, nulls, ...key }) => ({
    ...key,
    descending: !descending,
    ...(nulls && { nulls: nulls === 'first' ? ('last' as const) : ('first' as const) }),
  }))
}

function readKeys(list: ListDeclaration, sort: string): SortKey[] {
  const keys: SortKey[] = []
  for (const part of sort.split(',')) {
    const text = part.trim()
    const name = text.startsWith('-') ? text.slice(1) : text
    if (!list.sort.includes(name) || keys.some((key) => key.name === name)) continue
    const key = sortKeyOf(list, text)
    // It must be the only field: no index covers fields of both tables.
    if (key.of && keys.length === 0) return [key]
    if (!key.of) keys.push(key)
  }
  return keys
}
