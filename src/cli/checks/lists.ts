import { existsSync } from 'node:fs'
import { ConfigurationError } from '../../config/environment.ts'
import type { PosternConfig } from '../../define-config.ts'
import { checkList } from '../../listing/checking/check.ts'
import { explainList } from '../../listing/checking/explain.ts'
import { readLists } from '../../listing/declaration.ts'
import type { ListDeclaration } from '../../listing/list.ts'
import type { Database } from '../../storage/database.ts'
import { openDatabase } from '../../storage/open.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** The lists of the configuration module against their tables, with the plan of every query that they declare. */
export async function* checkLists(
  url: string | undefined,
  config: PosternConfig | undefined,
): AsyncGenerator<Finding> {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url ?? '')?.[1]
  const lists = readable(config)
  if (lists.length === 0 || url === undefined || (file !== undefined && !existsSync(file))) return
  let database: Database | undefined
  try {
    database = await openDatabase(url)
    for (const list of lists) yield* checkOne(database, list)
  } catch (error) {
    // That it does not answer was told by the check of the database.
    if (!(error instanceof StorageUnavailable)) throw error
  } finally {
    await database?.close()
  }
}

async function* checkOne(database: Database, declaration: ListDeclaration): AsyncGenerator<Finding> {
  const about = `list ${declaration.path}`
  const { list, faults, missing, keep } = await checkList(database, declaration)
  yield* faults.map((text) => fault(about, text))
  if (faults.length > 0) return
  for (const { query, steps } of await explainList(database, list))
    yield ok(about, `${query === '' ? 'as it is' : query}: ${steps.join('; ')}`)
  yield* missing.map(({ query, statement }) =>
    warning(about, `no index for ${query === '' ? 'its order' : query}: ${statement}`),
  )
  if (keep !== undefined)
    yield warning(about, `keeps no counts yet, which makes totals and high pages slow: ${keep}`)
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
