import { leastConnections } from '../storage/postgres/pool/connection-counts.ts'
import { printableLines } from '../telemetry/printable.ts'
import { checkContents } from './checks/contents.ts'
import { checkDatabase } from './checks/database.ts'
import { ok, type Finding } from './checks/finding.ts'
import { checkProviders } from './checks/providers.ts'
import { checkSettings } from './checks/settings.ts'
import { checkSpool } from './checks/spool.ts'
import { checkStandby } from './checks/standby.ts'
import { inspectConfiguration } from './configuration.ts'

const signs = { ok: '✔', warning: '!', fault: '✖' }

/**
 * Checks settings, database, clock and reachability of providers, as far as the settings can be read; says what to mend.
 * Changes nothing. Exit code 1 when anything is at fault.
 */
export async function doctor(): Promise<void> {
  const findings: Finding[] = []
  const tell = (finding: Finding): void => {
    findings.push(finding)
    process.stdout.write(`${signs[finding.state]} ${printableLines(`${finding.about}: ${finding.text}`)}\n`)
  }
  const inspected = await inspectConfiguration()
  const { configuration, providers } = inspected
  for (const finding of checkSettings(inspected)) tell(finding)
  const { databaseUrl, databaseSessionUrl, databaseConnections = leastConnections } = configuration
  const place = databaseUrl === undefined ? undefined : { databaseUrl, databaseSessionUrl }
  if (place) for await (const finding of checkDatabase(place, databaseConnections)) tell(finding)
  for (const finding of await checkStandby(configuration)) tell(finding)
  for (const finding of await checkSpool(configuration)) tell(finding)
  if (place) for await (const finding of checkContents(place, inspected)) tell(finding)
  if (configuration.demo) tell(ok('provider demo', 'built in, there while the service runs'))
  for (const finding of await checkProviders(providers, configuration.allowPrivateNetwork ?? false))
    tell(finding)
  const faults = findings.filter(({ state }) => state === 'fault').length
  process.stdout.write(faults === 0 ? 'nothing to mend\n' : `${faults} to mend\n`)
  if (faults > 0) process.exitCode = 1
}
