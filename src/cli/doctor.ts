import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { systemClock } from '../clock.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import type { PosternConfig } from '../define-config.ts'
import { mergeProviders } from '../login/providers/configured-providers.ts'
import type { ResolvedProvider } from '../login/providers/resolved-provider.ts'
import { resolveProvider } from '../login/providers/settings.ts'
import type { Database } from '../storage/database.ts'
import { NewerDatabase, pendingMigrations } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { readConfiguration } from './configuration.ts'

interface Finding {
  state: 'ok' | 'warning' | 'fault'
  about: string
  text: string
}

const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text })
const warning = (about: string, text: string): Finding => ({ state: 'warning', about, text })
const fault = (about: string, text: string): Finding => ({ state: 'fault', about, text })
const signs = { ok: '✔', warning: '!', fault: '✖' }

/** Checks settings, database, clock and reachability of providers; says what to mend. Exit code 1 when anything is at fault. */
export async function doctor(): Promise<void> {
  const findings: Finding[] = []
  const tell = (finding: Finding): void => {
    findings.push(finding)
    process.stdout.write(`${signs[finding.state]} ${finding.about}: ${finding.text}\n`)
  }
  try {
    const { configuration, config } = await readConfiguration()
    tell(ok('settings', configuration.production ? 'production' : 'demo mode'))
    for (const finding of checkSettings(configuration)) tell(finding)
    const database = await openDatabase(configuration.databaseUrl)
    try {
      for await (const finding of checkDatabase(database)) tell(finding)
    } finally {
      await database.close()
    }
    for await (const finding of checkProviders(configuration, config?.login?.providers)) tell(finding)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    for (const text of error.faults) tell(fault('settings', text))
  }
  const faults = findings.filter(({ state }) => state === 'fault').length
  process.stdout.write(faults === 0 ? 'nothing to mend\n' : `${faults} to mend\n`)
  if (faults > 0) process.exitCode = 1
}

function checkSettings({
  production,
  baseUrl,
  providers,
  adminApiKey,
  adminIdentities,
  allowPrivateNetwork,
}: Configuration): Finding[] {
  if (!production) return []
  const findings: Finding[] = []
  if (baseUrl?.startsWith('http:'))
    findings.push(warning('BASE_URL', 'is http: session cookies are then not Secure; put TLS in front'))
  if (providers.length === 0)
    findings.push(
      warning('sign-in', 'no identity provider is configured: set <NAME>_CLIENT_ID and <NAME>_CLIENT_SECRET'),
    )
  if (!adminApiKey && adminIdentities.length === 0)
    findings.push(warning('admins', 'nobody is admin yet: set ADMIN_IDENTITIES, or `postern keys create`'))
  if (allowPrivateNetwork)
    findings.push(
      warning(
        'ALLOW_PRIVATE_NETWORK',
        'is on: subscribers can make this service call addresses inside your network',
      ),
    )
  return findings
}

async function* checkDatabase(database: Database): AsyncGenerator<Finding> {
  try {
    await database.ping()
  } catch (error) {
    yield fault('database', `${(error as Error).message}: check DATABASE_URL and that the server runs`)
    return
  }
  yield ok('database', `${database.engine} answers`)
  try {
    const pending = await pendingMigrations(database)
    yield pending.length === 0
      ? ok('migrations', 'up to date')
      : warning('migrations', `${pending.join(', ')} to be applied: \`postern migrate\`, or just start`)
  } catch (error) {
    if (!(error instanceof NewerDatabase)) throw error
    yield fault('migrations', error.message)
    return
  }
  if (database.engine === 'sqlite') {
    const { bavail, bsize } = statfsSync(dirname(database.file))
    const free = (bavail * bsize) / 1024 ** 2
    yield free < 500
      ? warning('disk', `only ${Math.round(free)} MB are free where the database lies`)
      : ok('disk', `${Math.round(free / 1024)} GB free`)
    return
  }
  const { rows } = await sql<{
    ms: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(database.reader)
  const off = Math.abs((rows[0]?.ms ?? 0) - systemClock.now())
  yield off > 2000
    ? fault(
        'clock',
        `this machine and the database differ by ${Math.round(off)} ms: run a time service (NTP) on both`,
      )
    : ok('clock', `within ${Math.round(off)} ms of the database`)
}

async function* checkProviders(
  { providers }: Configuration,
  module: NonNullable<PosternConfig['login']>['providers'] = {},
): AsyncGenerator<Finding> {
  const faults: string[] = []
  for (const settings of mergeProviders(providers, module, faults)) {
    const provider = resolveProvider(settings)
    if ('faults' in provider) faults.push(...provider.faults)
    else yield await checkProvider(provider)
  }
  for (const text of faults) yield fault('providers', text)
}

async function checkProvider(provider: ResolvedProvider): Promise<Finding> {
  const about = `provider ${provider.name}`
  if (provider.kind === 'oauth' || provider.jwksUrl !== undefined) return ok(about, 'its addresses are known')
  const url = `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), redirect: 'manual' })
    if (!response.ok) return fault(about, `${url} answered ${response.status}: check its issuer`)
    const off = Math.abs(Date.parse(response.headers.get('date') ?? '') - systemClock.now())
    if (off > 30_000)
      return warning(
        about,
        `its clock and this one differ by ${Math.round(off / 1000)} s: id tokens may be refused`,
      )
    return ok(about, 'its discovery document can be read')
  } catch (error) {
    return fault(about, `${url} cannot be reached: ${(error as Error).message}`)
  }
}
