import { ConfigurationError, redacted } from '../config/environment.ts'
import { banner } from '../demo/banner.ts'
import type { PosternConfig } from '../define-config.ts'
import { startService, type Service } from '../service.ts'
import { createLog, standardOutput, type Log } from '../telemetry/log.ts'
import { readableLines } from '../telemetry/readable.ts'
import { fileOfVariable, originOfVariable } from './env-file.ts'
import { withForwarding } from './forward.ts'
import { isJson } from './output.ts'
import { readConfiguration, weakSecrets } from '../diagnostics/configuration.ts'

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
  const person = !production && process.stdout.isTTY && !isJson()
  const output = standardOutput()
  const log = createLog(configuration.logLevel, person ? readableLines(process.stdout) : output)
  log.info({ settings: redacted(configuration) }, 'starting')
  for (const text of [...read.misspelled, ...weakSecrets(configuration, config)]) log.warn(text)
  const roles = { http: options.only !== 'workers', workers: options.only !== 'http' }
  const service = await startService({
    configuration,
    config,
    log,
    roles,
    migrate: options.migrate,
    migrationsFolder: read.migrationsFolder,
    samples: !production,
    settings: { env: process.env, originOf: originOfVariable },
  })
  stopOnSignals(service, log)
  // Most likely a handler forgot an await: it is logged, and does not end the service.
  process.on('unhandledRejection', (error) =>
    log.error({ err: error }, 'a promise failed that nobody awaited'),
  )

  log.info({ address: service.baseUrl, ms: Math.round(performance.now()) }, 'ready')
  if (forwarding)
    process.stderr.write(`events are forwarded to ${options.forward}, signed with ${forwarding.secret}\n`)
  // Written to the output of the log, so that it follows the lines before it.
  if (!production && roles.http && !isJson())
    (person ? process.stdout : output).write(
      `${banner({ ...read, baseUrl: service.baseUrl, sources: ownSources(config), keyFile: fileOfVariable('ADMIN_API_KEY') })}\n`,
    )
}

/** Stops the service at SIGTERM and SIGINT. A second signal ends the delay of the announcement, a third one the process. */
function stopOnSignals(service: Service, log: Log): void {
  const skipDelay = new AbortController()
  let state: 'running' | 'announced' | 'stopping' = 'running'
  const end = async (): Promise<void> => {
    await service.announceStop(skipDelay.signal)
    state = 'stopping'
    await service.stop()
  }
  const stop = (signal: NodeJS.Signals): void => {
    // Asked again, a person wants it now. What was acknowledged is stored in any case.
    if (state === 'stopping') process.exit(1)
    log.info({ signal }, 'stopping')
    if (state === 'announced') return skipDelay.abort()
    state = 'announced'
    end().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'could not stop cleanly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

/** The sources of a project; undefined without a project, whose events are samples. */
function ownSources(config: PosternConfig | undefined): string[] | undefined {
  if (!config?.receiving && !config?.emitting) return undefined
  return Object.keys(config.receiving?.sources ?? {})
}
