import { type IncomingMessage, type Server, type ServerResponse, request as httpRequest } from 'node:http'
import { readConfiguration, weakSecrets } from '../diagnostics/configuration.ts'
import { type Configuration, ConfigurationError, redacted } from '../config/environment.ts'
import { isBelow } from '../http/raw/routes.ts'
import { isLoopbackHost } from '../network/egress.ts'
import { startService } from '../service.ts'
import { createLog } from '../telemetry/log.ts'
import { logOutput } from '../telemetry/readable.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closing } from '../http/connections/closing.ts'
import type { PosternConfig } from '../define-config.ts'
import { once } from 'node:events'
import { duplexPair, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A running service without a server of its own. */
interface Mounted {
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

/** Headers about a connection (RFC 9110, section 7.6.1): those of the caller's say nothing about the one in memory. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const withoutBody = new Set([204, 304])

/**
 * Answers a web standard request by a connection in memory to the server, which does not have to listen. The connection serves this
 * request only, and both sides close it after the answer. The address of the client is not known: it counts as loopback, and
 * TRUSTED_PROXIES=127.0.0.1 lets `X-Forwarded-For` name it.
 */
export async function answerFetch(server: Server, request: Request): Promise<Response> {
  const [near, far] = duplexPair()
  // Without an error, the other end would see only the end of its input, and would go on with an answer that nobody reads.
  near.once('close', () => far.destroy())
  server.emit('connection', Object.defineProperty(far, 'remoteAddress', { value: '127.0.0.1' }))
  const { host, pathname, search } = new URL(request.url)
  const call = httpRequest({
    createConnection: () => near,
    method: request.method,
    path: pathname + search,
    headers: { host, ...endToEnd(request) },
    signal: request.signal,
  })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  if (request.body) {
    // An answer may come before the end of the body.
    pipeline(Readable.fromWeb(request.body), call).catch(() => undefined)
  } else call.end()
  const [answer] = await answered
  const { statusCode: status = 0, rawHeaders } = answer
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!hopByHop.has(rawHeaders[at]!.toLowerCase())) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
  const isEmpty = request.method === 'HEAD' || withoutBody.has(status)
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as globalThis.ReadableStream), {
    status,
    headers,
  })
}

/**
 * The request's own headers, with those of a connection that ends after one answer. Headers that `connection` names are kept: a
 * caller could name `x-forwarded-for`, which a proxy has set.
 */
function endToEnd({ headers, body }: Request): Record<string, string> {
  const kept = [...headers].filter(([name]) => !hopByHop.has(name))
  const framing = body && !headers.has('content-length') && { 'transfer-encoding': 'chunked' }
  return { ...Object.fromEntries(kept), ...framing, connection: 'close' }
}
