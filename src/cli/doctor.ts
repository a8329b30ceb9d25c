import { leastConnections } from '../storage/postgres/pool/connection-shares.ts'
import { checkContents } from '../diagnostics/contents.ts'
import { checkDatabase, checkStandby } from '../diagnostics/database.ts'
import { ok } from '../diagnostics/finding.ts'
import { Report } from './output.ts'
import { checkProviders, checkSettings } from '../diagnostics/settings.ts'
import { checkSpool } from '../diagnostics/spool.ts'
import { inspectConfiguration } from '../diagnostics/configuration.ts'

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
  let isUsable = place !== undefined
  if (place)
    for await (const finding of checkDatabase(place, databaseConnections)) {
      report.tell([finding])
      if (finding.state === 'fault') isUsable = false
    }
  report.tell(await checkStandby(configuration))
  const spool = inspected.config?.receiving?.spool
  report.tell(await checkSpool(configuration, spool))
  await spool?.close?.()
  if (place && isUsable) for await (const finding of checkContents(place, inspected)) report.tell([finding])
  if (configuration.demo) report.tell([ok('provider demo', 'built in, there while the service runs')])
  report.tell(await checkProviders(providers, configuration.allowPrivateNetwork ?? false))
  report.end()
}
