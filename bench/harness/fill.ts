import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'

const chunk = 50_000

/** Rows of a table, made by the database of the numbers from 0 on, each of which is `n`. */
export interface Rows {
  /** The table with its columns: `users (id, name)`. */
  into: string
  values: string
  /** Which of the numbers have a row; default: all. */
  where?: string
}

/** Writes as many rows of each, in steps; a million from a program would take minutes. */
export async function fill(database: Database, count: number, all: readonly Rows[]): Promise<void> {
  for (let first = 0; first < count; first += chunk) {
    const last = Math.min(first + chunk, count) - 1
    const numbers = `with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${last})`
    await database.transaction(
      async (tx) => {
        for (const { into, values, where = 'true' } of all)
          await sql
            .raw(`insert into ${into} ${numbers} select ${values} from numbers where ${where}`)
            .execute(tx)
      },
      { timeLimit: 600_000 },
    )
  }
}

/** The expression of `n` as text of so many digits. */
export function padded({ engine }: Database, digits: number, expression = 'n'): string {
  return engine === 'sqlite'
    ? `printf('%0${digits}d', ${expression})`
    : `lpad((${expression})::text, ${digits}, '0')`
}
