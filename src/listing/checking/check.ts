import type { Database } from '../../storage/database.ts'
import { totalTableOf, whyNotCountable } from '../counts/list-order.ts'
import type { ListDeclaration } from '../list.ts'
import { defaultOrder } from '../order.ts'
import { knownFields, validateColumns, validateKey } from './columns.ts'
import { checkExpansions } from './expansions.ts'
import { missingIndexes, type MissingIndex, type MissingIndexes } from './index-advice.ts'
import { hasNullKeys } from './null-keys.ts'
import { validateRowAccess } from './sample-caller.ts'
import { missingSearchIndexes, validateSearch } from './search.ts'
import { inspectTable } from './inspect.ts'
import type { Table } from './table.ts'
import { withStoredForms } from './time-forms.ts'

/** A declared list, checked against the database. */
export interface CheckedList {
  /** The declaration, completed with facts about the table, such as which columns may be null. */
  list: ListDeclaration
  /** Why the list cannot be read. */
  faults: readonly string[]
  /** Indexes for queries that would read and sort all rows. */
  missing: readonly MissingIndex[]
  /** Indexes for pairs of a filter and a sort that would sort all rows that pass the filter. */
  missingForPairs: readonly MissingIndex[]
  /** The command that creates the counts, when the list declares `keep` and has none. Until then, deep pages are slow. */
  createCounts?: string
  /** Whether rows have no key. Walks may miss all of them but one: of two nulls, none comes after the other. */
  nullKeys?: boolean
}

export async function checkList(database: Database, declaration: ListDeclaration): Promise<CheckedList> {
  const { engine } = database
  const table = await inspectTable(database, declaration.table)
  if (!table) {
    const faults = [`there is no table or view ${declaration.table}`]
    return { list: declaration, faults, missing: [], missingForPairs: [] }
  }
  const expansions = await checkExpansions(database, declaration)
  const faults = [
    ...validateColumns(declaration.table, table, declaration.fields, engine),
    ...validateKey(declaration, table),
    ...validateRowAccess(declaration),
    ...(await validateSearch(database, declaration, table)),
    ...expansions.faults,
  ]
  const fields = withStoredForms(database, declaration, knownFields(declaration.fields, table, engine), table)
  const readable = { ...declaration, fields, expand: expansions.expand }
  const counts = faults.length === 0 ? await checkCounts(database, readable, table) : noCounts
  faults.push(...counts.faults)
  const nullKeys = faults.length === 0 && hasNullKeys(database, readable, table)
  const key = { ...fields[declaration.key]!, ...(nullKeys && { nullable: true }) }
  const list = {
    ...readable,
    fields: { ...fields, [declaration.key]: key },
    maintainCounts: counts.exist,
  }
  const advice =
    table.kind === 'table' && faults.length === 0 ? missingIndexes(list, table, engine) : noAdvice
  return {
    list,
    faults,
    missing: [...advice.missing, ...missingSearchIndexes(list, table, engine), ...expansions.missing],
    missingForPairs: advice.forPairs,
    ...(counts.create !== undefined && { createCounts: counts.create }),
    ...(nullKeys && { nullKeys }),
  }
}

const noAdvice: MissingIndexes = { missing: [], forPairs: [] }
const noCounts: CountsCheck = { exist: false, faults: [] }

interface CountsCheck {
  exist: boolean
  faults: readonly string[]
  create?: string
}

/** Until its counts are created, a list counts and skips rows like any other. */
async function checkCounts(
  database: Database,
  list: ListDeclaration,
  { kind, materialized, columns }: Table,
): Promise<CountsCheck> {
  if (!list.maintainCounts) return noCounts
  const order = defaultOrder(list)
  const folded = order.find(({ field }) => (columns.get(field.column)?.collation ?? 'binary') !== 'binary')
  const fault =
    (kind === 'view' || materialized ? '`keep` needs a table: a view cannot have triggers' : undefined) ??
    whyNotCountable(order) ??
    (folded && `\`keep\` needs an order whose collations compare by bytes, and ${folded.name} has another`)
  if (fault !== undefined) return { ...noCounts, faults: [fault] }
  if (await inspectTable(database, totalTableOf(list))) return { ...noCounts, exist: true }
  return { ...noCounts, create: `postern lists keep ${list.path}` }
}
