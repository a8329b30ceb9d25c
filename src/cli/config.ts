import { withStoredSecrets } from '../config/generated-secrets.ts'
import { shownSettings } from '../config/shown-settings.ts'
import { fault } from '../diagnostics/finding.ts'
import { checkSettings } from '../diagnostics/settings.ts'
import { CommandFailure } from './command-failure.ts'
import { inspectConfiguration } from '../diagnostics/configuration.ts'
import { originOfVariable } from './env-file.ts'
import { printTable, Report } from './output.ts'

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
