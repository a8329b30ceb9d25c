import { hash } from 'node:crypto'
import { longestName } from '../storage/sql-text.ts'

/** A name for aliases in generated SQL. The prefix avoids conflicts with the columns of users' tables. */
export function internalName(name: string): string {
  return `postern_${name}`
}

/** The name of an advised index: the table without its schema, and `what`. A name that is too long is cut and ends with a hash. */
export function indexName(table: string, what: string): string {
  const name = `${table.split('.').at(-1)}_${what}`
  if (Buffer.byteLength(name) <= longestName) return name
  return `${Buffer.from(name)
    .subarray(0, 50)
    .toString('utf8')
    .replace(/\uFFFD{1,3}$/, '')}_${hash('sha256', name, 'hex').slice(0, 12)}`
}
