import type { Database } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { sortKeyOf, type Expansion, type ListDeclaration } from '../list.ts'
import { createUnique, isUnique, knownFields, validateColumns } from './columns.ts'
import { missingIndex, type MissingIndex } from './index-advice.ts'
import { inspectTable } from './inspect.ts'
import type { Table } from './table.ts'

/** The expansions of a list, checked against their tables and completed with facts about these. */
export interface CheckedExpansions {
  expand: Expansion[]
  faults: string[]
  missing: MissingIndex[]
}

export async function checkExpansions(database: Database, list: ListDeclaration): Promise<CheckedExpansions> {
  const { engine } = database
  const checked: CheckedExpansions = { expand: [], faults: [], missing: [] }
  for (const expansion of list.expand) {
    const { name, table, key } = expansion
    const other = await inspectTable(database, table)
    if (!other) {
      checked.expand.push(expansion)
      checked.faults.push(`there is no table or view ${table}, which ${name} is expanded from`)
      continue
    }
    const fields = knownFields(expansion.fields, other, engine)
    const { loose = false, operators } = other.columns.get(key) ?? {}
    checked.expand.push({ ...expansion, fields, loose, operators })
    checked.faults.push(...validateExpansion(expansion, other, list, engine))
    checked.missing.push(...missingManyIndex(expansion, other, engine))
  }
  return checked
}

function validateExpansion(
  { name, table, key, fields, from, many }: Expansion,
  other: Table,
  list: ListDeclaration,
  engine: Engine,
): string[] {
  const { type } = list.fields[from]!
  const keyField = { [`${name}'s key`]: { column: key, type, description: '' } }
  const faults = [
    ...validateColumns(table, other, fields, engine),
    ...validateColumns(table, other, keyField, engine),
  ]
  if (other.kind === 'table' && !many && !isUnique(other.indexes, key))
    faults.push(`${table}.${key} is not unique, and ${name} is expanded by it: ${createUnique(table, key)}`)
  return faults
}

/** Without an index on the key and the order, each item of a page would read the whole other table. */
function missingManyIndex(expansion: Expansion, other: Table, engine: Engine): MissingIndex[] {
  const { name, table, key, many } = expansion
  if (!many || other.kind === 'view') return []
  const wanted = {
    query: `expand=${name}`,
    equal: [key],
    order: many.order.map((text) => sortKeyOf(expansion, text)),
  }
  return missingIndex(table, wanted, other.indexes, engine)
}
