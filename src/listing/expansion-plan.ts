import type { Engine } from '../storage/query-runner.ts'
import { orderOfMany, shownFields, type Expansion, type Field } from './list.ts'
import { internalName } from './names.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'
import { readColumn, Statement, type Plan } from './plan.ts'

/** The rows whose key is one of the values; the key comes first. */
export function planOne(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const places = Array.from({ length: count }, (_, index) =>
    statement.value(index, keyField(expansion, from)),
  )
  return statement.plan(
    `select ${[readColumn(keyField(expansion, from), engine), ...shownColumns(expansion, engine)].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} in (${places.join(', ')})`,
  )
}

/**
 * For each of the values the first rows whose key equals it, and one more than are shown; in front of each row the place of the
 * value that it was found by, which the key may be written otherwise than. Each value is a seek with a limit of its own, so that one
 * that thousands of rows have costs no more than the others.
 */
export function planEach(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const columns = shownColumns(expansion, engine).map(
    (column, index) => `${column} as ${internalName(`c${index}`)}`,
  )
  const seeks = Array.from(
    { length: count },
    (_, index) =>
      `select * from (select ${[`${index} as ${internalName('place')}`, ...columns].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} = ${statement.value(index, keyField(expansion, from))}` +
      `${firstOf(expansion)}) as ${internalName(`of${index}`)}`,
  )
  return statement.plan(seeks.join(' union all '))
}

function firstOf(expansion: Expansion): string {
  const { many } = expansion
  if (!many) return ' limit 1'
  const terms = orderOfMany(expansion, many).map(
    ({ field, descending }) => `${quote(field.column)}${descending ? ' desc' : ''}`,
  )
  return ` order by ${terms.join(', ')} limit ${many.limit + 1}`
}

function shownColumns({ fields }: Expansion, engine: Engine): string[] {
  return shownFields(fields).map((name) => readColumn(fields[name]!, engine))
}

/** The other table's key holds what the list's field holds. */
const keyField = ({ key }: Expansion, from: Field): Field => ({ ...from, column: key })
