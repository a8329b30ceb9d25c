import { writeFile } from 'node:fs/promises'
import { ConfigurationError } from '../config/environment.ts'
import { checkList } from '../listing/checking/check.ts'
import type { ListDeclaration } from '../listing/list.ts'
import { typesOfLists } from '../listing/typescript.ts'
import { withUnmigrated } from './database.ts'
import { declaredLists } from './lists.ts'
import { print, tell } from './output.ts'
import { readSettings } from './settings.ts'

/**
 * Writes the types of the declared lists to a file, or to standard output. Only the database knows which columns may be null: without it,
 * every field may be that does not declare `nullable: false`.
 */
export async function typesCommand(
  file: string | undefined,
  { database }: { database: boolean },
): Promise<void> {
  const declared = await declaredLists()
  if (declared.length === 0) tell('the configuration module declares no lists')
  const text = typesOfLists(database ? await checkedLists(declared) : declared)
  if (file === undefined) return print({ types: text }, text)
  await writeFile(file, text)
  const count = declared.length === 1 ? '1 list' : `${declared.length} lists`
  print({ file, lists: declared.map(({ path }) => path) }, `${file}: types of ${count}\n`)
}

function checkedLists(declared: readonly ListDeclaration[]): Promise<ListDeclaration[]> {
  return withUnmigrated(readSettings(), async (database) => {
    const checked = []
    for (const list of declared) checked.push(await checkList(database, list))
    const faults = checked.flatMap(({ list, faults }) => faults.map((fault) => `${list.path}: ${fault}`))
    if (faults.length > 0)
      throw new ConfigurationError([...faults, 'apply the migrations first, or use --no-database'])
    return checked.map(({ list }) => list)
  })
}
