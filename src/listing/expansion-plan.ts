import type { Engine } from '../storage/query-runner.ts'
import { comparison, shownFields, sortKeyOf, type Expansion, type Field } from './list.ts'
import { internalName } from './names.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'
import { readColumn, Statement, type Plan } from './plan.ts'

/** The rows whose key is one of `count` values. The first column is the key. */
export function planOne(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const placeholders = Array.from({ length: count }, (_, index) =>
    statement.stored(index, keyField(expansion, from)),
  )
  return statement.plan(
    `select ${[readColumn(keyField(expansion, from), engine), ...shownColumns(expansion, engine)].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${quote(expansion.key)} in (${placeholders.join(', ')})`,
  )
}

/**
 * For each of `count` values, the first rows whose key equals it, one more than are shown. The first column is the index of the
 * value: the key may be written differently. Each value has a seek with a limit of its own, so that a value with thousands of rows
 * costs no more than the others.
 */
export function planEach(expansion: Expansion, from: Field, count: number, engine: Engine): Plan {
  const statement = new Statement(engine)
  const columns = shownColumns(expansion, engine).map(
    (column, index) => `${column} as ${internalName(`c${index}`)}`,
  )
  const seeks = Array.from(
    { length: count },
    (_, index) =>
      `select * from (select ${[`${index} as ${internalName('index')}`, ...columns].join(', ')} from ${quoteTable(expansion.table)}` +
      ` where ${comparison(keyField(expansion, from), '=', statement.stored(index, keyField(expansion, from)))}` +
      `${limitOf(expansion)}) as ${internalName(`of${index}`)}`,
  )
  return statement.plan(seeks.join(' union all '))
}

function limitOf(expansion: Expansion): string {
  const { many } = expansion
  if (!many) return ' limit 1'
  const terms = many.order
    .map((text) => sortKeyOf(expansion, text))
    .map(({ field, descending }) => `${quote(field.column)}${descending ? ' desc' : ''}`)
  return ` order by ${terms.join(', ')} limit ${many.limit + 1}`
}

function shownColumns({ fields }: Expansion, engine: Engine): string[] {
  return shownFields(fields).map((name) => readColumn(fields[name]!, engine))
}

/** The key of the other table, which has the type of the list's field and the operators of its column. */
const keyField = ({ key, operators }: Expansion, from: Field): Field => ({ ...from, column: key, operators })
