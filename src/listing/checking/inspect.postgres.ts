import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { quoteTable } from '../../storage/sql-text.ts'
import type { ListDeclaration } from '../list.ts'
import type { Index, Table, TableColumn } from './table.ts'

const tableOf = `
  select c.oid::text as oid, c.relkind::text as kind, has_any_column_privilege(c.oid, 'select') as readable from pg_class c
  where c.oid = to_regclass($1) and c.relkind in ('r', 'p', 'v', 'm', 'f')`

/** Each column, as in TableColumn, with its name. */
const columnsOf = `
  select json_strip_nulls(to_json(c)) as found from (
    select a.attname as name, not a.attnotnull as nullable, a.attgenerated <> '' as computed,
      case when t.typtype = 'e' then 'enum' when coalesce(base.typcategory, t.typcategory) = 'A' then 'array'
        else coalesce(base.typname, t.typname) end as type,
      o.operators, case when coalesce(base.typcategory, t.typcategory) = 'A' or coalesce(base.typname, t.typname) = 'jsonb'
        then format_type(coalesce(base.oid, t.oid), null) end as "array",
      (select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as "values",
      case when pg_collation_is_visible(c.oid) then c.collname end as collation,
      nullif(concat(case when coalesce(base.typname, t.typname) in ('citext', 'bpchar', 'name') then '::text' end,
        case when not c.collisdeterministic then ' collate "default"' end), '') as "asText",
      case when c.collname <> 'default' and c.collisdeterministic then c.oid::regcollation::text end as lowering,
      coalesce(not c.collisdeterministic, false) or coalesce(base.typname, t.typname) in ('citext', 'bpchar', 'numeric')
        or o.operators is not null as loose
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    left join pg_collation c on c.oid = a.attcollation
    left join lateral (
      with recursive bases as (
        select b.* from pg_type b where b.oid = t.typbasetype
        union all select b.* from bases d join pg_type b on b.oid = d.typbasetype where d.typtype = 'd'
      ) select * from bases where typtype <> 'd'
    ) base on t.typtype = 'd'
    join pg_namespace n on n.oid = coalesce(base.typnamespace, t.typnamespace)
    cross join lateral (select case when coalesce(base.typtype, t.typtype) = 'b'
      and n.nspname <> all (current_schemas(true)) then quote_ident(n.nspname) end as operators) o
    where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum
  ) as c`

/**
 * The definition of each index, and the index as in Index if it is one. indoption is 0 for asc nulls last, 1 for desc nulls last, 2 for
 * asc nulls first and 3 for desc nulls first.
 */
const indexesOf = `
  select pg_get_indexdef(i.indexrelid) as definition,
    case when i.indisvalid and i.indpred is null and i.indexprs is null and am.amname = 'btree'
      then json_build_object('name', i.indexrelid::regclass::text, 'unique', i.indisunique, 'columns', (
        select json_strip_nulls(json_agg(json_build_object(
          'column', a.attname, 'descending', i.indoption[k.number - 1] & 1 = 1,
          'collation', case when i.indcollation[k.number - 1] not in (0, a.attcollation)
            then (select case when pg_collation_is_visible(c.oid) then c.collname else c.oid::regcollation::text end
              from pg_collation c where c.oid = i.indcollation[k.number - 1]) end,
          'opposed', case when i.indoption[k.number - 1] in (1, 2) then true end) order by k.number))
        from unnest(i.indkey) with ordinality as k (attnum, number)
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where k.number <= i.indnkeyatts
      )) end as index
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_am am on am.oid = c.relam
  where i.indrelid = $1::oid`

export async function inspectPostgresTable(
  { pool }: PostgresDatabase,
  name: string,
): Promise<Table | undefined> {
  const rows = <Row>(text: string, value: string): Promise<Row[]> =>
    poolRows<Row>(pool, { text, values: [value] })
  const [found] = await rows<{ oid: string; kind: string; readable: boolean }>(tableOf, quoteTable(name))
  if (!found) return undefined
  const columns = await rows<{ found: TableColumn & { name: string } }>(columnsOf, found.oid)
  const indexes = await rows<{ definition: string; index: Index | null }>(indexesOf, found.oid)
  return {
    name,
    // PostgreSQL knows neither the nullability of a view's columns nor the indexes of a foreign table.
    kind: found.kind === 'v' || found.kind === 'f' ? 'view' : 'table',
    materialized: found.kind === 'm',
    partitioned: found.kind === 'p',
    columns: new Map(columns.map(({ found: { name, ...column } }) => [name, column])),
    indexes: indexes.flatMap(({ index }) => index ?? []),
    forbidden: !found.readable,
    rowids: false,
    definitions: indexes.map(({ definition }) => definition),
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

/** Returns the function that selects those of some names that are missing by a condition. */
function missingNames(condition: string) {
  return async ({ pool }: PostgresDatabase, names: readonly string[]): Promise<string[]> => {
    if (names.length === 0) return []
    const text = `select name from unnest($1::text[]) as name where ${condition}`
    const rows = await poolRows<{ name: string }>(pool, { text, values: [names] })
    return rows.map(({ name }) => name)
  }
}

/** Returns the collations that are not on the search path. */
export const missingCollations = missingNames('to_regcollation(quote_ident(name)) is null')

/** Returns the text search configurations that do not exist. Names may have a schema; case matters as in SQL. */
export const missingConfigurations = missingNames(`not exists (
  select from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace
  where name in (c.cfgname, quote_ident(c.cfgname)) or lower(name) in (c.cfgname, n.nspname || '.' || c.cfgname))`)

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
