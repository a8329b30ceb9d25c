// Statements that are built once, for paths where building them takes a good part of the time. Their texts do not vary, so they also
// stay prepared on PostgreSQL.
import type { Compilable, CompiledQuery, DialectAdapter, Insertable } from 'kysely'
import type { Queryable } from './database.ts'
import { prepare } from './postgres/driver/statement.ts'
import type { Tables } from './tables.ts'

/** Stands for the value of a field while a statement is built. */
class Placeholder {
  readonly field: PropertyKey

  constructor(field: PropertyKey) {
    this.field = field
  }
}

/** Each engine has one adapter. */
type ByEngine = Map<DialectAdapter, CompiledQuery>

/**
 * A statement with values that differ at each run. It must name its result columns.
 * @param build builds it. It must not look at the values, nor depend on anything but its arguments.
 */
export function buildOnce<Values extends object, Row>(
  build: (db: Queryable, values: Values) => Compilable<Row>,
): (db: Queryable, values: Values) => CompiledQuery<Row> {
  const built: ByEngine = new Map()
  const placeholders = new Proxy({}, { get: (_, field) => new Placeholder(field) }) as Values
  return (db, values) =>
    fill(built, db, () => build(db, placeholders), values as Record<PropertyKey, unknown>)
}

/** By the table and its columns in the order of the row. */
const inserts = new Map<string, ByEngine>()

/** The insert of a row. */
export function insertOf<Table extends keyof Tables>(
  db: Queryable,
  table: Table,
  row: Insertable<Tables[Table]>,
): CompiledQuery {
  const columns = Object.keys(row)
  const key = `${table} ${columns.join(' ')}`
  const built: ByEngine = inserts.get(key) ?? new Map()
  inserts.set(key, built)
  const build = (): Compilable => {
    const placeholders = Object.fromEntries(columns.map((column) => [column, new Placeholder(column)]))
    return db.insertInto(table).values(placeholders as never)
  }
  return fill(built, db, build, row as Record<PropertyKey, unknown>)
}

function fill<Row>(
  built: ByEngine,
  db: Queryable,
  build: () => Compilable<Row>,
  values: Readonly<Record<PropertyKey, unknown>>,
): CompiledQuery<Row> {
  const { adapter } = db.getExecutor()
  let statement = built.get(adapter) as CompiledQuery<Row> | undefined
  if (!statement) built.set(adapter, (statement = prepare(build().compile()) as CompiledQuery<Row>))
  const parameters = statement.parameters.map((parameter) =>
    parameter instanceof Placeholder ? values[parameter.field] : parameter,
  )
  return { ...statement, parameters }
}
