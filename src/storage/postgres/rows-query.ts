import pg, { type Pool, type PoolClient } from 'pg'
import { runOwn, type Answer } from './own-query.ts'

/** What a row holds: see RowsQuery. */
export type RowValue = string | number | null

export interface RowsStatement {
  text: string
  values: readonly RowValue[]
  /** Under which it is kept prepared on each connection. */
  name?: string | undefined
}

interface Column {
  dataTypeID: number
}

/** int2, int4, float4, float8, as pg_type numbers them. */
const numbers = new Set([21, 23, 700, 701])

/**
 * A statement whose rows are arrays of what the protocol brought: numbers of at most eight bytes' precision as numbers,
 * everything else as the text that the server writes. For lists, where the rows are what a request costs: pg's own query
 * copies its configuration, makes an example of an object with each answer's columns, and looks a parser up, calls it, and
 * emits an event for each row; without them a page of a hundred rows costs a tenth less.
 */
class RowsQuery extends pg.Query {
  /** Set by the client that runs it. */
  declare callback: Answer<RowValue[][]>
  declare name: string | undefined
  readonly #rows: RowValue[][] = []
  /** Places of the columns that are numbers. */
  #numeric: number[] = []

  constructor({ text, values, name }: RowsStatement) {
    // As a text it is not copied.
    super(text, [...values])
    this.name = name
  }

  handleRowDescription({ fields }: { fields: readonly Column[] }): void {
    this.#numeric = fields.flatMap(({ dataTypeID }, index) => (numbers.has(dataTypeID) ? [index] : []))
  }

  handleDataRow({ fields }: { fields: RowValue[] }): void {
    for (const index of this.#numeric) {
      const value = fields[index]
      if (value !== null) fields[index] = Number(value)
    }
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {
    // How many rows there were is known.
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows)
  }
}

/** Runs a statement for its rows, on a connection of the pool or on one that the caller has of it. */
export function queryRows(on: Pool | PoolClient, statement: RowsStatement): Promise<RowValue[][]> {
  return runOwn(on, new RowsQuery(statement))
}
