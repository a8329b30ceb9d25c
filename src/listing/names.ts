import { hash } from 'node:crypto'
import { longestName } from '../storage/sql-names.ts'

/** A name for our own aliases. The prefix keeps them apart from the columns of a user's table, which may have any name. */
export function internalName(name: string): string {
  return `postern_${name}`
}

/** The name of an index that we advise: the table's without its schema, and `what`; a long name ends in a hash of all of it. */
export function indexName(table: string, what: string): string {
  const name = `${table.split('.').at(-1)}_${what}`
  if (Buffer.byteLength(name) <= longestName) return name
  return `${Buffer.from(name)
    .subarray(0, 50)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}_${hash('sha256', name, 'hex').slice(0, 12)}`
}
