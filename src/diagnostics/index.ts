import type { CompletedConfiguration } from '../config/generated-secrets.ts'
import type { Environment } from '../config/readers.ts'
import type { PosternConfig } from '../define-config.ts'
import type { Database } from '../storage/database.ts'
import { shareRun } from '../runtime/bounded-cache.ts'
import { isUpToDate } from '../storage/migrate.ts'
import { inspectConfiguration, type InspectedConfiguration } from './configuration.ts'
import { checkRows, checkLists } from './contents.ts'
import { checkModes, checkOpenDatabase, checkStandby } from './database.ts'
import { describeError } from './describe-error.ts'
import { fault, ok, type Finding } from './finding.ts'
import { checkProviders, checkSettings } from './settings.ts'
import { checkSpool } from './spool.ts'

interface DiagnosticsParts {
  configuration: CompletedConfiguration['configuration']
  config: PosternConfig | undefined
  env: Environment
  database: Database
}

/** Groups of checks, in their order. */
const checks = {
  settings: async (parts: DiagnosticsParts) => checkSettings(await inspect(parts)),
  async *database({ configuration, database }: DiagnosticsParts) {
    yield* checkModes(configuration.databaseUrl)
    yield* checkOpenDatabase(database, configuration.databaseConnections)
  },
  standby: ({ configuration }: DiagnosticsParts) => checkStandby(configuration),
  spool: ({ configuration, config }: DiagnosticsParts) => checkSpool(configuration, config?.receiving?.spool),
  async *contents({ configuration, config, database }: DiagnosticsParts) {
    if (await isUpToDate(database)) yield* checkRows(database, configuration, config)
  },
  lists: ({ database, config }: DiagnosticsParts) => checkLists(database, config),
  async *providers(parts: DiagnosticsParts) {
    const { demo, allowPrivateNetwork } = parts.configuration
    if (demo) yield ok('provider demo', 'built in')
    yield* await checkProviders((await inspect(parts)).providers, allowPrivateNetwork)
  },
} satisfies Record<string, (parts: DiagnosticsParts) => AsyncGenerator<Finding> | Promise<Finding[]>>

export type CheckName = keyof typeof checks
export const checkNames = Object.keys(checks) as CheckName[]

/** Milliseconds for one group of checks. */
const longestCheck = 8_000

/**
 * What `postern doctor` checks, within a running service and on its own database. The returned function runs one group of
 * checks. Calls for a group that runs share its result. A group ends after eight seconds, with a fault that says so.
 */
export function createDiagnostics(parts: DiagnosticsParts): (check: CheckName) => Promise<Finding[]> {
  const running = new Map<CheckName, Promise<Finding[]>>()
  /** One group at a time, so that checks take no more than their share of the process. */
  let last: Promise<unknown> = Promise.resolve()
  return (check) => {
    const run = shareRun(running, check, () => last.then(() => collect(check, parts)))
    last = run.catch(() => undefined)
    return run
  }
}

async function collect(check: CheckName, parts: DiagnosticsParts): Promise<Finding[]> {
  const findings: Finding[] = []
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), longestCheck)
  const running = findingsOf(check, parts)
  try {
    for (;;) {
      const step = await Promise.race([running.next(), late.promise])
      if (step === 'late') {
        findings.push(fault(check, `the checks took longer than ${longestCheck / 1000} seconds`))
        return findings
      }
      if (step.done) return findings
      findings.push(step.value)
      // Requests get their turns between synchronous reads of SQLite.
      await new Promise((resolve) => setImmediate(resolve))
    }
  } catch (error) {
    return [...findings, fault(check, describeError(error))]
  } finally {
    clearTimeout(timer)
  }
}

async function* findingsOf(check: CheckName, parts: DiagnosticsParts): AsyncGenerator<Finding> {
  yield* await checks[check](parts)
}

/** The settings of the environment with those that the start completed: an empty configuration module is never loaded again. */
function inspect({ env, config }: DiagnosticsParts): Promise<InspectedConfiguration> {
  return inspectConfiguration(env, config ?? {})
}
