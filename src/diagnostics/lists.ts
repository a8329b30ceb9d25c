import { ConfigurationError } from '../config/environment.ts'
import type { PosternConfig } from '../define-config.ts'
import { checkList } from '../listing/checking/check.ts'
import { declaredQueries, maxQueries, type MissingIndex } from '../listing/checking/index-advice.ts'
import { explainList, type ExplainedQuery } from '../listing/checking/explain.ts'
import { readLists } from '../listing/declaration.ts'
import type { ListDeclaration } from '../listing/list.ts'
import type { Database } from '../storage/database.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** The lists of the configuration module against their tables, with the plan of every query that they declare. */
export async function* checkLists(
  database: Database,
  config: PosternConfig | undefined,
): AsyncGenerator<Finding> {
  const advised = new Map<string, string>()
  for (const list of readable(config)) yield* checkOne(database, list, advised)
}

/** @param advised for which list an index was advised before: several may lie on one table. */
async function* checkOne(
  database: Database,
  declaration: ListDeclaration,
  advised: Map<string, string>,
): AsyncGenerator<Finding> {
  const about = `list ${declaration.path}`
  const { list, faults, missing, missingForPairs, createCounts, nullKeys } = await checkList(
    database,
    declaration,
  )
  yield* faults.map((text) => fault(about, text))
  if (faults.length > 0) return
  for (const [steps, queries] of grouped(await explainList(database, list)))
    yield ok(about, `${named(queries, 'default order')}: ${steps}`)
  const { omitted } = declaredQueries(list)
  if (omitted > 0)
    yield warning(
      about,
      `stopped at ${maxQueries} queries: ${omitted} more pairs of filter and sort are not shown`,
    )
  const advice = ({ queries, statement }: MissingIndex, why: string): Finding => {
    const other = advised.get(statement)
    if (other === undefined) advised.set(statement, list.path)
    const what = other === undefined ? statement : `the one that ${other} wants`
    return warning(about, `no index for ${named(queries, 'its order')}${why}`, what)
  }
  for (const one of missing) yield advice(one, '')
  for (const one of missingForPairs) yield advice(one, ', which sorts all that passes the filter')
  if (createCounts !== undefined)
    yield warning(about, `its counts are not maintained yet, so totals and deep pages are slow`, createCounts)
  if (nullKeys)
    yield warning(
      about,
      'it has rows with a null key, which paging may miss: give them keys, and declare the column not null',
    )
}

/** Queries that are planned in the same way, by their plan, in the order in which they come. */
function grouped(explained: readonly ExplainedQuery[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { query, steps } of explained) {
    const plan = steps.join('; ')
    const group = groups.get(plan)
    if (group) group.push(query)
    else groups.set(plan, [query])
  }
  return groups
}

/** @param whole what the list without parameters is called. */
function named(queries: readonly string[], whole: string): string {
  return queries.map((query) => (query === '' ? whole : query)).join(', ')
}

/** Faults of the declarations themselves were told with the settings. */
function readable(config: PosternConfig | undefined): ListDeclaration[] {
  try {
    return readLists(config?.listing)
  } catch (error) {
    if (error instanceof ConfigurationError) return []
    throw error
  }
}
