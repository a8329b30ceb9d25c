import { ConfigurationError } from '../config/environment.ts'
import { checkList } from '../listing/checking/check.ts'
import { readLists } from '../listing/declaration.ts'
import { CountsWriter } from '../listing/counts/writer.ts'
import type { ListDeclaration } from '../listing/list.ts'
import { users } from '../listing/resources/users.ts'
import type { Database } from '../storage/database.ts'
import { printableLines } from '../telemetry/printable.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import { print, tell } from './output.ts'
import { inspectConfiguration } from '../diagnostics/configuration.ts'
import { readSettings } from './settings.ts'
import { recordCommand, withDatabase, withUnmigrated } from './database.ts'
import { writeFile } from 'node:fs/promises'
import { typesOfLists } from '../listing/typescript.ts'

type Action = (writer: CountsWriter) => Promise<string>

const actions = {
  async keep(writer: CountsWriter) {
    await writer.create()
    return 'counts created; restart the service to use them'
  },
  async check(writer: CountsWriter) {
    const { total, faults } = await writer.check()
    if (faults.length === 0) return `${total} rows, counts are correct`
    process.exitCode = exitCodes.failed.code
    return `${faults.join('; ')}; run \`postern lists repair\``
  },
  async repair(writer: CountsWriter) {
    await writer.rebuild()
    return 'all rows counted again'
  },
  async forget(writer: CountsWriter) {
    await writer.drop()
    return 'counts removed; restart the service'
  },
} satisfies Record<string, Action>

type ListsAction = keyof typeof actions

/**
 * Manages the maintained counts of lists: `keep` creates them, `check` compares them with the rows, `repair` rebuilds them,
 * `forget` drops them. The exit code is 1 when a check finds a fault.
 */
export async function listsCommand(name: ListsAction, path: string | undefined): Promise<void> {
  const action = actions[name]
  const configuration = readSettings()
  // The migrations create the counts of /users, and the service relies on them.
  const own = name === 'keep' || name === 'forget' ? [] : [users]
  const lists = [...own, ...(await declaredLists())].filter(
    (list) => list.maintainCounts && (path === undefined || list.path === path),
  )
  if (lists.length === 0) throw new CommandFailure('no such list declares `keep: true`')
  await withDatabase(configuration, async (database) => {
    for (const list of lists) {
      // Recorded before it runs, so that the audit log also has a command that fails.
      if (name !== 'check')
        await recordCommand(database, {
          action: 'list.counts_changed',
          target: `list:${list.path}`,
          detail: { command: name },
        })
      const current = await checkedList(database, list)
      const fault = stateFault(current, name)
      if (fault !== undefined && (path !== undefined || !skipping.has(name))) throw new CommandFailure(fault)
      const said = fault ?? (await action(new CountsWriter(database, current)))
      print({ path: list.path, result: said }, `${printableLines(`${list.path}: ${said}`)}\n`)
    }
  })
}

/** The lists of the configuration module. @throws ConfigurationError for a module that cannot be read */
export async function declaredLists(): Promise<ListDeclaration[]> {
  const { config, faults } = await inspectConfiguration()
  if (!config && faults.length > 0) throw new ConfigurationError(faults)
  return readLists(config?.listing)
}

async function checkedList(database: Database, declaration: ListDeclaration): Promise<ListDeclaration> {
  const { list, faults } = await checkList(database, declaration)
  if (faults.length > 0) throw new ConfigurationError(faults.map((fault) => `${declaration.path}: ${fault}`))
  return list
}

/** Commands that, without a path, continue with the other lists if one is in their state already. */
const skipping: ReadonlySet<ListsAction> = new Set(['keep', 'forget'])

function stateFault({ path, maintainCounts }: ListDeclaration, action: ListsAction): string | undefined {
  if (maintainCounts !== (action === 'keep')) return undefined
  return action === 'keep'
    ? `the counts of ${path} are maintained already`
    : `the counts of ${path} are not maintained; create them with \`postern lists keep ${path}\``
}

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
