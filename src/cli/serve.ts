import { type Configuration, ConfigurationError, redacted } from '../config/environment.ts'
import { banner } from '../demo/banner.ts'
import type { PosternConfig } from '../define-config.ts'
import { systemClock, type Scheduler } from '../runtime/clock.ts'
import { startService, type Service } from '../service.ts'
import { flush } from '../telemetry/spans.ts'
import { createLog, standardOutput, type Log } from '../telemetry/log.ts'
import { logOutput } from '../telemetry/readable.ts'
import { fileOfVariable, originOfVariable } from './env-file.ts'
import { isJson } from './output.ts'
import { readConfiguration, weakSecrets } from '../diagnostics/configuration.ts'
import { Keyring } from '../crypto/keyring.ts'
import { faultOfTarget, type ForwardTo, keysOf, writeKey } from '../receiving/forward.ts'
import { readSources } from '../receiving/sources.ts'
import { currentCall, type HandlerCall } from '../runtime/call-context.ts'

interface ServeOptions {
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

/**
 * The configuration with all sources forwarded to one address, instead of their handlers, for handlers in another language;
 * and the secret by which the receiver verifies the events of all sources.
 * @throws ConfigurationError for an address that cannot be used, and in production
 */
function withForwarding(config: PosternConfig = {}, configuration: Configuration, url: string) {
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

/** Milliseconds in which further signals are the same request: npm, a shell and the launcher each pass on the one they get. */
const oneRequest = 1_000

interface StopOnSignalsParts {
  service: Pick<Service, 'announceStop' | 'stop'>
  log: Pick<Log, 'info' | 'error'>
  clock: Pick<Scheduler, 'elapsed'>
  /** `process`, unless a test gives another emitter. */
  signals: Pick<NodeJS.EventEmitter, 'on'>
  exit: (code: number) => void
}

/**
 * Stops the service at SIGTERM and SIGINT. A further request ends the delay of the announcement, and one after that ends the process
 * at once. Signals within a second of a request belong to it.
 */
export function stopOnSignals({ service, log, clock, signals, exit }: StopOnSignalsParts): void {
  const skipDelay = new AbortController()
  let state: 'running' | 'announced' | 'stopping' = 'running'
  let last = -Infinity
  const end = async (): Promise<void> => {
    await service.announceStop(skipDelay.signal)
    state = 'stopping'
    await service.stop()
  }
  const stop = (signal: NodeJS.Signals): void => {
    const now = clock.elapsed()
    if (now - last < oneRequest) return
    last = now
    // Asked again, a person wants it now. What was acknowledged is stored in any case.
    if (state === 'stopping') return exit(1)
    log.info({ signal }, 'stopping')
    if (state === 'announced') return skipDelay.abort()
    state = 'announced'
    end().then(
      () => exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'could not stop cleanly')
        exit(1)
      },
    )
  }
  signals.on('SIGTERM', stop)
  signals.on('SIGINT', stop)
}

interface ReportUncaughtParts {
  service: Pick<Service, 'stop'>
  log: Pick<Log, 'error'>
  /** `process`, unless a test gives another emitter. */
  errors: Pick<NodeJS.EventEmitter, 'on'>
  exit: (code: number) => void
}

/**
 * Reports errors that nothing caught. One in a callback that a handler started fails the handler's attempt. Any other one stops the
 * service, because nobody knows what it left half done. A rejected promise ends nothing: most likely a handler lacks an `await`.
 */
export function reportUncaught({ service, log, errors, exit }: ReportUncaughtParts): void {
  let isStopping = false
  errors.on('unhandledRejection', (error) =>
    log.error({ err: error, ...named(currentCall()) }, 'unhandled promise rejection'),
  )
  errors.on('uncaughtException', (error) => {
    const call = currentCall()
    if (call) {
      const line = { err: error, ...named(call) }
      if (call.fail(asError(error)))
        log.error(line, 'a callback of a handler threw an error: its attempt has failed')
      else log.error(line, 'a callback of a handler threw an error after its attempt had ended')
      return
    }
    log.error({ err: error }, 'uncaught error: the process is stopping')
    if (isStopping) return
    isStopping = true
    service
      .stop()
      .catch((cause: unknown) => log.error({ err: cause }, 'could not stop cleanly'))
      .finally(() => exit(1))
  })
}

/** The value itself is the cause: not each has a text. */
function asError(thrown: unknown): Error {
  return thrown instanceof Error
    ? thrown
    : new Error('a value that is not an error was thrown', { cause: thrown })
}

function named(call: HandlerCall | undefined): object {
  if (!call) return {}
  const { handler, source, event, type } = call
  return { handler, source, event, type }
}
