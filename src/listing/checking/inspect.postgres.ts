import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { quoteTable } from '../../storage/sql-text.ts'
import type { ListDeclaration } from '../list.ts'
import type { Index, Table, TableColumn } from './table.ts'

const tableOf = `
  select c.oid::text as oid, c.relkind::text as kind, has_any_column_privilege(c.oid, 'select') as readable from pg_class c
  where c.oid = to_regclass($1) and c.relkind in ('r', 'p', 'v', 'm', 'f')`

const columnsOf = `
  select a.attname as name, a.attnotnull as not_null, a.attgenerated <> '' as computed, t.typtype::text as kind,
    case when coalesce(base.typcategory, t.typcategory) = 'A' then 'array' else coalesce(base.typname, t.typname) end as type,
    case when coalesce(base.typtype, t.typtype) = 'b' and n.nspname <> all (current_schemas(true)) then quote_ident(n.nspname) end as operators,
    case when coalesce(base.typcategory, t.typcategory) = 'A' or coalesce(base.typname, t.typname) = 'jsonb'
      then format_type(coalesce(base.oid, t.oid), null) end as array,
    (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels,
    case when pg_collation_is_visible(c.oid) then c.collname end as collation,
    c.collisdeterministic = false or coalesce(base.typname, t.typname) in ('citext', 'bpchar', 'numeric') as loose
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  left join pg_collation c on c.oid = a.attcollation
  left join pg_type base on base.oid = t.typbasetype and t.typtype = 'd'
  join pg_namespace n on n.oid = coalesce(base.typnamespace, t.typnamespace)
  where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`

// indoption: 0 asc nulls last, 1 desc nulls last, 2 asc nulls first, 3 desc nulls first.
const indexesOf = `
  select i.indexrelid::regclass::text as name, i.indisunique as is_unique, pg_get_indexdef(i.indexrelid) as definition,
    i.indisvalid and i.indpred is null and i.indexprs is null and am.amname = 'btree' as plain,
    (
      select coalesce(json_agg(json_build_object('column', a.attname, 'option', i.indoption[k.number - 1],
        'collation', case when i.indcollation[k.number - 1] not in (0, a.attcollation)
          then (select case when pg_collation_is_visible(c.oid) then c.collname else c.oid::regcollation::text end
            from pg_collation c where c.oid = i.indcollation[k.number - 1]) end) order by k.number), '[]')
      from unnest(i.indkey) with ordinality as k (attnum, number)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      where k.number <= i.indnkeyatts
    ) as columns
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_am am on am.oid = c.relam
  where i.indrelid = $1::oid`

interface ColumnRow {
  name: string
  not_null: boolean
  computed: boolean
  kind: string
  type: string
  labels: string[] | null
  loose: boolean | null
  collation: string | null
  operators: string | null
  array: string | null
}
interface IndexRow {
  name: string
  is_unique: boolean
  definition: string
  plain: boolean
  columns: { column: string; option: number; collation: string | null }[]
}

export async function inspectPostgresTable(
  { pool }: PostgresDatabase,
  name: string,
): Promise<Table | undefined> {
  const rows = <Row>(text: string, value: string): Promise<Row[]> =>
    poolRows<Row>(pool, { text, values: [value] })
  const [found] = await rows<{ oid: string; kind: string; readable: boolean }>(tableOf, quoteTable(name))
  if (!found) return undefined
  const columns = await rows<ColumnRow>(columnsOf, found.oid)
  const indexes = await rows<IndexRow>(indexesOf, found.oid)
  return {
    // PostgreSQL knows neither the nullability of a view's columns nor the indexes of a foreign table.
    kind: found.kind === 'v' || found.kind === 'f' ? 'view' : 'table',
    materialized: found.kind === 'm',
    partitioned: found.kind === 'p',
    columns: new Map(columns.map((column) => [column.name, describeColumn(column)])),
    indexes: indexes.filter(({ plain }) => plain).map(describeIndex),
    forbidden: !found.readable,
    rowids: false,
    definitions: indexes.map(({ definition }) => definition),
  }
}

function describeColumn({
  not_null,
  computed,
  kind,
  type,
  labels,
  loose,
  collation,
  operators,
  array,
}: ColumnRow): TableColumn {
  return {
    type: kind === 'e' ? 'enum' : type,
    nullable: !not_null,
    computed,
    values: labels ?? undefined,
    loose: loose === true || operators !== null,
    collation: collation ?? undefined,
    operators: operators ?? undefined,
    array: array ?? undefined,
  }
}

function describeIndex({ name, is_unique, columns }: IndexRow): Index {
  return {
    name,
    unique: is_unique,
    columns: columns.map(({ column, option, collation }) => ({
      column,
      descending: (option & 1) === 1,
      ...(collation !== null && { collation }),
      ...((option === 1 || option === 2) && { opposed: true }),
    })),
  }
}

/** See foreignKeys. */
export async function postgresForeignKeys(
  { pool }: PostgresDatabase,
  table: string,
  to: string,
): Promise<[string, string][][]> {
  const rows = await poolRows<{ pairs: [string, string][] }>(pool, {
    text: `select (
        select json_agg(json_build_array(own.attname, other.attname)) from unnest(c.conkey, c.confkey) as k (own, other)
        join pg_attribute own on own.attrelid = c.conrelid and own.attnum = k.own
        join pg_attribute other on other.attrelid = c.confrelid and other.attnum = k.other
      ) as pairs
      from pg_constraint c
      where c.contype = 'f' and c.convalidated and c.conrelid = to_regclass($1) and c.confrelid = to_regclass($2)`,
    values: [quoteTable(table), quoteTable(to)],
  })
  return rows.map(({ pairs }) => pairs)
}

/** Returns the collations that are not on the search path. */
export async function missingCollations(
  { pool }: PostgresDatabase,
  names: readonly string[],
): Promise<string[]> {
  const rows = await poolRows<{ name: string }>(pool, {
    text: `select name from unnest($1::text[]) as name where to_regcollation(quote_ident(name)) is null`,
    values: [names],
  })
  return rows.map(({ name }) => name)
}

/** Returns the text search configurations that do not exist. Names may have a schema; case matters as in SQL. */
export async function missingConfigurations(
  { pool }: PostgresDatabase,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return []
  const rows = await poolRows<{ name: string }>(pool, {
    text: `select name from unnest($1::text[]) as name where not exists (
      select from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace
      where name in (c.cfgname, quote_ident(c.cfgname)) or lower(name) in (c.cfgname, n.nspname || '.' || c.cfgname))`,
    values: [names],
  })
  return rows.map(({ name }) => name)
}

const inactivePoliciesOf = `
  select case when r.rolsuper or r.rolbypassrls
      then format('the role %1$I bypasses the policies of %2$s: alter role %1$I nosuperuser nobypassrls;', r.rolname, t.name)
    when c.relkind = 'v'
      then format('the view %1$s reads its tables as its owner: alter view %1$s set (security_invoker = true);', t.name)
    else format('%1$s has no policies for the role %2$I: alter table %1$s enable row level security, force row level security;',
      t.name, r.rolname) end as why
  from unnest($1::text[]) with ordinality as t (name, number)
  join pg_class c on c.oid = to_regclass(t.name) join pg_roles r on r.rolname = current_user
  where not row_security_active(c.oid) and (c.relrowsecurity or number = 1)
    and not coalesce(c.reloptions && '{security_invoker=true,security_invoker=on}', false)
  order by number`

/** Why row-level security has no effect on the tables of a list, and how to fix it. Expanded tables do not need it. */
export async function inactivePolicies(
  { pool }: PostgresDatabase,
  { table, expand }: Pick<ListDeclaration, 'table' | 'expand'>,
): Promise<string[]> {
  const tables = [table, ...expand.map((one) => one.table)].map(quoteTable)
  const found = await poolRows<{ why: string }>(pool, { text: inactivePoliciesOf, values: [tables] })
  return [...new Set(found.map(({ why }) => why))]
}
