import type { ListDeclaration } from '../list.ts'
import { areConditions } from '../row-access.ts'

/** Returns the result of `where` for a sample caller; `false` without `where`, and if it throws for unknown callers. */
function sampleConditions({ where, access }: ListDeclaration): unknown {
  if (!where) return false
  const role = access === 'admin' ? 'admin' : 'user'
  try {
    return where(access === 'public' ? undefined : { kind: 'session', role, userId: 'sample' })
  } catch {
    return false
  }
}

export function validateRowAccess(list: ListDeclaration): string[] {
  const conditions = sampleConditions(list)
  if (conditions === false) return []
  if (!areConditions(conditions))
    return ['the function `where` must return conditions or false, and not a promise']
  return Object.keys(conditions)
    .filter((name) => !Object.hasOwn(list.fields, name))
    .map((name) => `there is no field ${name}, which \`where\` uses`)
}

/** The columns that `where` compares with one value, which an index needs in front. */
export function rowAccessColumns(list: ListDeclaration): string[] {
  const { fields } = list
  const conditions = sampleConditions(list)
  if (!areConditions(conditions)) return []
  return Object.entries(conditions).flatMap(([name, value]) =>
    typeof value === 'object' || !Object.hasOwn(fields, name) ? [] : [fields[name]!.column],
  )
}
