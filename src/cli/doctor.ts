import { leastConnections } from '../storage/postgres/pool/connection-counts.ts'
import { checkContents } from './checks/contents.ts'
import { checkDatabase } from './checks/database.ts'
import { ok } from './checks/finding.ts'
import { checkProviders } from './checks/providers.ts'
import { Report } from './checks/report.ts'
import { checkSettings } from './checks/settings.ts'
import { checkSpool } from './checks/spool.ts'
import { checkStandby } from './checks/standby.ts'
import { inspectConfiguration } from './configuration.ts'

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
  if (place) for await (const finding of checkDatabase(place, databaseConnections)) report.tell([finding])
  report.tell(await checkStandby(configuration))
  report.tell(await checkSpool(configuration))
  if (place) for await (const finding of checkContents(place, inspected)) report.tell([finding])
  if (configuration.demo) report.tell([ok('provider demo', 'built in, there while the service runs')])
  report.tell(await checkProviders(providers, configuration.allowPrivateNetwork ?? false))
  report.end()
}
