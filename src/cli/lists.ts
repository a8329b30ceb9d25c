import { createRecordAudit, type AuditEntry } from '../accounts/audit.ts'
import { systemClock } from '../runtime/clock.ts'
import { ConfigurationError } from '../config/environment.ts'
import { checkList } from '../listing/checking/check.ts'
import { readLists } from '../listing/declaration.ts'
import { Keeping } from '../listing/kept/keeping.ts'
import type { ListDeclaration } from '../listing/list.ts'
import { users } from '../listing/resources/users.ts'
import type { Database } from '../storage/database.ts'
import { migrate } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { printableLines } from '../telemetry/printable.ts'
import { CommandFailure } from './command-failure.ts'
import { inspectConfiguration } from './configuration.ts'
import { readSettings } from './settings.ts'

type Action = (keeping: Keeping, list: ListDeclaration) => Promise<string>

const actions: Record<string, Action> = {
  async keep(keeping) {
    await keeping.begin()
    return 'its counts are kept from now on; start the service anew'
  },
  async check(keeping) {
    const { total, faults } = await keeping.check()
    if (faults.length === 0) return `${total} rows, as kept`
    process.exitCode = 1
    return `${faults.join('; ')}: \`postern lists repair\` counts anew`
  },
  async repair(keeping) {
    await keeping.repair()
    return 'counted anew'
  },
  async forget(keeping) {
    await keeping.end()
    return 'its counts are kept no longer; start the service anew'
  },
}

/**
 * `keep` puts triggers on the table of a list and counts its rows, `check` holds what is kept against them, `repair` counts
 * anew, `forget` takes the triggers away. Exit code 1 when a check finds something wrong.
 */
export async function listsCommand(name: string, path: string | undefined): Promise<void> {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (!action) throw new CommandFailure(`lists takes ${Object.keys(actions).join(', ')}, not ${name}`)
  const configuration = readSettings()
  const { config, faults } = await inspectConfiguration()
  if (!config && faults.length > 0) throw new ConfigurationError(faults)
  const lists = [users, ...readLists(config?.listing)].filter(
    (list) => list.kept && (path === undefined || list.path === path),
  )
  if (lists.length === 0)
    throw new CommandFailure('no such list says that its counts are kept (`keep: true`)')
  const database = await openDatabase(configuration)
  try {
    await migrate(database)
    for (const list of lists) {
      // What the service keeps of its own accord is neither begun nor ended by hand.
      if (list === users && (name === 'keep' || name === 'forget')) continue
      if (name !== 'check') await note(database, name, list.path)
      const said = await action(new Keeping(database, await checked(database, list, name)), list)
      process.stdout.write(`${printableLines(`${list.path}: ${said}`)}\n`)
    }
  } finally {
    await database.close()
  }
}

/** Before it is done: what fails halfway is to be found, too. */
async function note(database: Database, command: string, path: string): Promise<void> {
  const record = createRecordAudit(systemClock)
  const entry: AuditEntry = { action: 'list.counts_changed', target: `list:${path}`, detail: { command } }
  await database.transaction((tx) => record(tx, { ...entry, actor: 'cli' }))
}

async function checked(
  database: Database,
  declaration: ListDeclaration,
  action: string,
): Promise<ListDeclaration> {
  const { list, faults } = await checkList(database, declaration)
  if (faults.length > 0) throw new ConfigurationError(faults.map((fault) => `${declaration.path}: ${fault}`))
  if (list.kept === (action === 'keep'))
    throw new CommandFailure(
      action === 'keep'
        ? `the counts of ${list.path} are kept already`
        : `the counts of ${list.path} are not kept: \`postern lists keep ${list.path}\``,
    )
  return list
}
