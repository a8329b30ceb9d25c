import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { readConfiguration, weakSecrets } from '../diagnostics/configuration.ts'
import { type Configuration, ConfigurationError, redacted } from '../config/environment.ts'
import { isBelow } from '../http/requests/base-path.ts'
import { isLoopbackHost } from '../network/loopback.ts'
import { startService } from '../service.ts'
import { createLog } from '../telemetry/log.ts'
import { logOutput } from '../telemetry/readable.ts'
import { answerFetch } from './answer-fetch.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closing } from '../http/connections/closing.ts'
import type { PosternConfig } from '../define-config.ts'

/** A running service without a server of its own. */
export interface Mounted {
  handle: (request: IncomingMessage, response: ServerResponse, next?: () => void) => void
  fetch: (request: Request) => Promise<Response>
  /** From now on `/readyz` answers 503 and every answer has `Connection: close`. */
  announceStop: () => void
  /** Waits for the answers in progress, ends the workers and closes the database, within about ten seconds. */
  close: () => Promise<void>
}

/** Milliseconds that `close` may take, as for a stop of the service alone, and how many of them it waits for answers. */
const stopWithin = 10_000
const answersWithin = 7_000

/** Starts the service for a server of somebody else, which passes it the requests. */
export async function mount(options: MountOptions): Promise<Mounted> {
  const begun = performance.now()
  const { prefix, workers = true, migrations, env = process.env, ...given } = options
  const { configuration: read, config } = await readConfiguration(env, given)
  const configuration = below(prefix || read.basePath, read)
  const { basePath } = configuration
  const log = createLog(configuration.logLevel, logOutput(configuration.logFormat))
  log.debug({ settings: redacted(configuration) }, 'starting')
  for (const text of weakSecrets(configuration, config)) log.warn(text)
  const local = `http://127.0.0.1:${configuration.port}${basePath}`
  let { baseUrl } = configuration
  const service = await startService({
    configuration,
    config,
    log,
    roles: { http: true, workers },
    migrationsFolder: migrations,
    settings: { env, originOf: () => 'environment' },
    address: () => baseUrl ?? local,
  })
  log.info({ address: baseUrl ?? local, ms: Math.round(performance.now() - begun) }, 'ready')
  const { server, closing } = service.app
  const inProgress = new InProgress(server, closing)
  if (baseUrl === undefined)
    server.prependOnceListener('request', (request: IncomingMessage) => {
      baseUrl = (localOrigin(request) ?? new URL(local).origin) + basePath
    })

  return {
    handle(request, response, next) {
      const { url = '' } = request
      const target = request.originalUrl ?? url
      if (next && !isBelow(basePath, target)) return next()
      request.url = target
      // What the other program does after the answer, such as logging, sees its own address.
      response.prependOnceListener('finish', () => (request.url = url))
      server.emit('request', request, response)
    },
    fetch: (request) => answerFetch(server, request),
    announceStop: () => closing.start(),
    async close() {
      const begun = performance.now()
      closing.start()
      await inProgress.none(answersWithin)
      await service.stop(Math.round(stopWithin - (performance.now() - begun)))
    },
  }
}

/** @throws ConfigurationError for a prefix that is no path, or another one than the path of BASE_URL */
function below(basePath: string, configuration: Configuration): Configuration {
  const { baseUrl, basePath: ofBaseUrl } = configuration
  if (!/^(?:\/[\w.~-]+)*$/.test(basePath))
    throw new ConfigurationError([`the prefix ${basePath} is no path such as /gate`])
  if (ofBaseUrl === basePath || baseUrl === undefined) return { ...configuration, basePath }
  if (ofBaseUrl !== '')
    throw new ConfigurationError([`BASE_URL has the path ${ofBaseUrl}, and the prefix is ${basePath}`])
  return { ...configuration, basePath, baseUrl: baseUrl + basePath }
}

/** The origin that a request to this machine was sent to. Any other Host header is not trusted. */
function localOrigin({ headers, socket }: IncomingMessage): string | undefined {
  const url = `http://${headers.host}`
  if (URL.canParse(url) && isLoopbackHost(new URL(url).hostname)) return url
  return socket.localPort === undefined ? undefined : `http://127.0.0.1:${socket.localPort}`
}

/** The answers that a server has begun and not written yet, whichever server its requests came from. */
class InProgress {
  readonly #answers = new Set<ServerResponse>()
  #onNone: (() => void) | undefined

  /** @param closing whose start makes them the last ones on their connections, which the other server keeps open otherwise */
  constructor(server: Server, closing: Closing) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      this.#answers.add(response)
      const end = (): void => {
        this.#answers.delete(response)
        if (this.#answers.size === 0) this.#onNone?.()
      }
      // A client that leaves before the end causes only the second one.
      response.once('finish', end).once('close', end)
    })
    closing.onStart(() => {
      for (const response of this.#answers) closing.announce(response)
    })
  }

  /** Resolves when no answer is in progress, or after `limit` milliseconds. */
  async none(limit: number): Promise<void> {
    if (this.#answers.size === 0) return
    const over = new AbortController()
    this.#onNone = () => over.abort()
    await sleep(limit, undefined, { signal: over.signal }).catch(() => undefined)
  }
}

/** The configuration, and how the service is part of another program. */
export interface MountOptions extends PosternConfig {
  /** The path below which the service is reached, such as `/gate`. Default: the path of BASE_URL. */
  prefix?: string
  /** Whether this process also handles received events and sends emitted ones. Default true. */
  workers?: boolean
  /** The folder with the migrations of the product's own tables. Default none. */
  migrations?: string
  /** The settings, by their names in the environment. Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>
}
