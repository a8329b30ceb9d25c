import { hash } from 'node:crypto'

/** A name as SQL, whatever characters it has. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The name of a table, perhaps with its schema in front of a full stop. */
export function quoteTable(name: string): string {
  return name.split('.', 2).map(quote).join('.')
}

/** A name of ours beside those of a table, which may be any: an order or a source would take the one for the other. */
export function own(name: string): string {
  return `postern_${name}`
}

/** Longest name that PostgreSQL does not cut off, in bytes. */
export const longestName = 63

/** The name of an index that we advise: of the table without its schema, and another one for other columns however long they are. */
export function indexName(table: string, what: string): string {
  const name = `${table.split('.').at(-1)}_${what}`
  if (Buffer.byteLength(name) <= longestName) return name
  return `${Buffer.from(name)
    .subarray(0, 50)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}_${hash('sha256', name, 'hex').slice(0, 12)}`
}
