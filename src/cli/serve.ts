import { type Configuration, ConfigurationError, redacted } from '../config/environment.ts'
import { banner } from '../demo/banner.ts'
import type { PosternConfig } from '../define-config.ts'
import { systemClock } from '../runtime/clock.ts'
import { startService } from '../service.ts'
import { flush } from '../telemetry/spans.ts'
import { createLog, standardOutput } from '../telemetry/log.ts'
import { logOutput } from '../telemetry/readable.ts'
import { fileOfVariable, originOfVariable } from './env-file.ts'
import { isJson } from './output.ts'
import { reportUncaught, stopOnSignals } from './process-events.ts'
import { readConfiguration, weakSecrets } from '../diagnostics/configuration.ts'
import { Keyring } from '../crypto/keyring.ts'
import { faultOfTarget, type ForwardTo, keysOf, writeKey } from '../receiving/forward-target.ts'
import { readSources } from '../receiving/sources.ts'

export interface ServeOptions {
  only?: string
  migrate: boolean
  /** Where all events are posted to, instead of the handlers. */
  forward?: string
}

/** Runs the service until SIGTERM or SIGINT. */
export async function serve(options: ServeOptions): Promise<void> {
  const read = await readConfiguration()
  const { configuration } = read
  const { production, databaseUrl } = configuration
  if (options.only !== undefined && databaseUrl.startsWith('sqlite:')) {
    throw new ConfigurationError(['--only needs PostgreSQL: one SQLite file belongs to one process'])
  }
  const forwarding =
    options.forward === undefined ? undefined : withForwarding(read.config, configuration, options.forward)
  const config = forwarding?.config ?? read.config
  // A terminal shows each line immediately.
  const output = process.stdout.isTTY && !isJson() ? process.stdout : standardOutput()
  const log = createLog(
    configuration.logLevel,
    logOutput(isJson() ? 'json' : configuration.logFormat, output),
  )
  log.debug({ settings: redacted(configuration) }, 'starting')
  for (const text of [...read.misspelled, ...weakSecrets(configuration, config)]) log.warn(text)
  const roles = { http: options.only !== 'workers', workers: options.only !== 'http' }
  const started = await startService({
    configuration,
    config,
    log,
    roles,
    migrate: options.migrate,
    migrationsFolder: read.migrationsFolder,
    samples: !production,
    settings: { env: process.env, originOf: originOfVariable },
  })
  const stop = async (): Promise<void> => {
    try {
      await started.stop()
    } finally {
      await flush().catch((error: unknown) => log.warn({ err: error }, 'the last spans could not be sent'))
    }
  }
  const service = { ...started, stop }
  const exit = (code: number): void => process.exit(code)
  stopOnSignals({ service, log, clock: systemClock, signals: process, exit })
  reportUncaught({ service, log, errors: process, exit })

  log.info({ address: service.baseUrl, ms: Math.round(performance.now()) }, 'ready')
  if (forwarding)
    process.stderr.write(`events are forwarded to ${options.forward}, signed with ${forwarding.secret}\n`)
  // Written to the output of the log, so that it follows the lines before it.
  if (!production && roles.http && !isJson())
    output.write(
      `${banner({ ...read, baseUrl: service.baseUrl, sources: ownSources(config), keyFile: fileOfVariable('ADMIN_API_KEY') })}\n`,
    )
}

/** The sources of a project; undefined without a project, where there are samples. */
const ownSources = (config: PosternConfig | undefined): string[] | undefined =>
  config && Object.keys(config.receiving?.sources ?? {})

interface Forwarding {
  config: PosternConfig
  /** By which the receiver verifies the events of all sources. */
  secret: string
}

/**
 * The configuration with all sources forwarded to one address, instead of their handlers, for handlers in another language.
 * @throws ConfigurationError for an address that cannot be used, and in production
 */
function withForwarding(config: PosternConfig = {}, configuration: Configuration, url: string): Forwarding {
  const { masterSecrets, production } = configuration
  if (production || !masterSecrets)
    throw new ConfigurationError(['--forward is for development: in production set forwardTo of each source'])
  const secret = writeKey(keysOf(url, 'dev', new Keyring(masterSecrets))[0])
  const forwardTo: ForwardTo = { url, secret }
  const fault = faultOfTarget(forwardTo)
  if (fault !== undefined) throw new ConfigurationError([`--forward ${fault}`])
  const given = readSources(config.receiving?.sources, configuration)
  const sources = Object.fromEntries(Array.from(given, ([name, scheme]) => [name, { ...scheme, forwardTo }]))
  return { config: { ...config, receiving: { ...config.receiving, sources } }, secret }
}
