import { fieldOf, type ListDeclaration, type SortKey } from './list.ts'

/**
 * The order that a query string asks for: comma-separated fields, descending with `-` in front. Fields that the list does
 * not allow are dropped, a repeated one counts where it comes first; when nothing is left, the list's own order holds.
 * The unique key is always last, so that every order is total; it goes the way of the key before it, so that one index
 * serves an order and its reverse.
 */
export function readOrder(list: ListDeclaration, sort: string | undefined): readonly SortKey[] {
  const asked = list.sort.length === 0 || sort === undefined ? [] : readKeys(list, sort)
  return asked.length > 0 ? withUniqueKey(list, asked) : defaultOrder(list)
}

/** The order when none is asked for; the same array every time. */
export function defaultOrder(list: ListDeclaration): readonly SortKey[] {
  let order = standing.get(list)
  if (!order) {
    order = withUniqueKey(
      list,
      list.order.map((text) => keyOf(list, text)),
    )
    standing.set(list, order)
  }
  return order
}

const standing = new WeakMap<ListDeclaration, readonly SortKey[]>()

function withUniqueKey(list: ListDeclaration, keys: readonly SortKey[]): readonly SortKey[] {
  const unique = keys.findIndex(({ name }) => name === list.key)
  // Behind the unique key there are no ties to break.
  if (unique >= 0) return keys.slice(0, unique + 1)
  return [...keys, keyOf(list, keys.at(-1)?.descending ? `-${list.key}` : list.key)]
}

/** The order as a list of field names, descending with `-` in front: what a cursor is bound to. */
export function writeOrder(order: readonly SortKey[]): string[] {
  return order.map(({ name, descending }) => (descending ? `-${name}` : name))
}

/** The same order from its end. */
export function reversed(order: readonly SortKey[]): SortKey[] {
  return order.map((key) => ({ ...key, descending: !key.descending }))
}

function readKeys(list: ListDeclaration, sort: string): SortKey[] {
  const keys: SortKey[] = []
  for (const part of sort.split(',')) {
    const text = part.trim()
    const name = text.startsWith('-') ? text.slice(1) : text
    if (list.sort.includes(name) && !keys.some((key) => key.name === name)) keys.push(keyOf(list, text))
  }
  return keys
}

function keyOf(list: ListDeclaration, text: string): SortKey {
  const descending = text.startsWith('-')
  const name = descending ? text.slice(1) : text
  return { name, field: fieldOf(list, name), descending }
}
