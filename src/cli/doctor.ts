import { withStoredSecrets } from '../config/generated-secrets.ts'
import { shownSettings } from '../config/shown-settings.ts'
import { fault, type Finding, ok } from '../diagnostics/finding.ts'
import { checkSettings, checkProviders } from '../diagnostics/settings.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import { inspectConfiguration } from '../diagnostics/configuration.ts'
import { originOfVariable } from './env-file.ts'
import { coloured, isJson, print, printTable } from './output.ts'
import { printableLines } from '../telemetry/printable.ts'
import { leastConnections } from '../storage/postgres/pool/connection-shares.ts'
import { checkContents } from '../diagnostics/contents.ts'
import { checkDatabase, checkStandby } from '../diagnostics/database.ts'
import type { Database } from '../storage/database.ts'
import { checkSpool } from '../diagnostics/spool.ts'

/** Checks the settings and the configuration module as the start of the service does. Exit code 1 if anything is at fault. */
export async function checkConfig(): Promise<void> {
  const report = new Report()
  const inspected = await inspectConfiguration()
  report.tell(checkSettings(inspected))
  try {
    withStoredSecrets(inspected.configuration)
  } catch (error) {
    report.tell([fault('secrets', (error as Error).message)])
  }
  report.end()
}

/**
 * Prints each setting in force with its origin: environment, .env file, --env-file, NAME_FILE, demo mode or default.
 * @throws CommandFailure after the settings that could be read, if others could not
 */
export function printConfig(): void {
  const { settings, faults } = shownSettings({ env: process.env, originOf: originOfVariable })
  const rows = settings.flatMap(({ name, value, origin }) =>
    value === undefined ? [] : [[name, value, origin]],
  )
  printTable(['name', 'value', 'origin'], rows)
  if (faults.length > 0)
    throw new CommandFailure(
      `${faults.length} ${faults.length === 1 ? 'setting' : 'settings'} cannot be used: see \`postern config check\``,
    )
}

/**
 * Checks settings, database, clock and reachability of providers, as far as the settings can be read, and reports the faults.
 * Changes nothing. Exit code 1 when anything is at fault.
 */
export async function doctor(): Promise<void> {
  const report = new Report()
  const inspected = await inspectConfiguration()
  const { configuration, providers } = inspected
  report.tell(checkSettings(inspected))
  const { databaseUrl, databaseSessionUrl, databaseConnections = leastConnections } = configuration
  const place = databaseUrl === undefined ? undefined : { databaseUrl, databaseSessionUrl }
  if (place) {
    const contents = (database: Database) => checkContents(database, inspected)
    for await (const finding of checkDatabase(place, databaseConnections, contents)) report.tell([finding])
  }
  report.tell(await checkStandby(configuration))
  const spool = inspected.config?.receiving?.spool
  report.tell(await checkSpool(configuration, spool))
  await spool?.close?.()
  if (configuration.demo) report.tell([ok('provider demo', 'built in; available while the service runs')])
  report.tell(await checkProviders(providers, configuration.allowPrivateNetwork ?? false))
  report.end()
}

const signs = {
  ok: coloured('green', '✔'),
  warning: coloured('yellow', '!'),
  fault: coloured('red', '✖'),
}

/** Prints findings as they come, and how many are to be mended; with `--json` all of them at the end. Sets the exit code. */
class Report {
  readonly #findings: Finding[] = []

  tell(findings: Iterable<Finding>): void {
    for (const finding of findings) {
      this.#findings.push(finding)
      const { state, about, text, advice } = finding
      const sentence = advice === undefined ? text : `${text}: ${advice}`
      if (!isJson()) process.stdout.write(`${signs[state]} ${printableLines(`${about}: ${sentence}`)}\n`)
    }
  }

  end(): void {
    const faults = this.#findings.filter(({ state }) => state === 'fault').length
    print(
      { findings: this.#findings, faults },
      faults === 0 ? 'no faults\n' : `${faults} ${faults === 1 ? 'fault' : 'faults'}\n`,
    )
    if (faults > 0) process.exitCode = exitCodes.failed.code
  }
}
