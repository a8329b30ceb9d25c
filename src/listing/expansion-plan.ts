import type { Engine } from '../storage/query-runner.ts'
import { orderOfMany, shownFields, type Expansion, type Field } from './list.ts'
import { own, quote, quoteTable } from './names.ts'
import { readColumn, Statement, type Plan } from './plan.ts'

/** The rows whose key is one of the values; the key comes first. */
export function planOne(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const places = Array.from({ length: count }, (_, index) =>
    statement.value(index, keyField(expansion, from)),
  )
  return statement.plan(
    `select ${columnsOf(expansion, from, engine).join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} in (${places.join(', ')})`,
  )
}

/**
 * For each of the values the first rows whose key it is, and one more than are shown; the key comes first. Each value is a
 * seek with a limit of its own, so that one that thousands of rows have costs no more than the others.
 */
export function planMany(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const columns = columnsOf(expansion, from, engine).map(
    (column, index) => `${column} as ${own(`c${index}`)}`,
  )
  const { limit } = expansion.many!
  const order = orderOfMany(expansion, expansion.many!)
  const terms = order.map(({ field, descending }) => `${quote(field.column)}${descending ? ' desc' : ''}`)
  const seeks = Array.from(
    { length: count },
    (_, index) =>
      `select * from (select ${columns.join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} = ${statement.value(index, keyField(expansion, from))}` +
      ` order by ${terms.join(', ')} limit ${limit + 1}) as ${own(`of${index}`)}`,
  )
  return statement.plan(seeks.join(' union all '))
}

function columnsOf(expansion: Expansion, from: Field, engine: Engine): string[] {
  const shown = shownFields(expansion.fields).map((name) => readColumn(expansion.fields[name]!, engine))
  return [readColumn(keyField(expansion, from), engine), ...shown]
}

/** The other table's key holds what the list's field holds. */
const keyField = ({ key }: Expansion, from: Field): Field => ({ ...from, column: key })
