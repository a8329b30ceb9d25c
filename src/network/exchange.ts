import { subscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import type { ConnectorOptions, PooledAgent } from './guarded-connector.ts'

/** The duration of each step of a connection, in milliseconds. Steps that were skipped or not finished are missing. */
interface ConnectionPhases {
  dns?: number
  connect?: number
  tls?: number
}

type ConnectionStep = keyof ConnectionPhases

/** The duration of each part, in milliseconds. Parts that did not occur or did not finish are missing. */
export interface Phases extends ConnectionPhases {
  /** Whether the connection existed before. */
  reused: boolean
  /** From sending the request to receiving the head of the response. */
  firstByte?: number
  /** From the start to the end of reading. */
  total: number
}

/** The step in which an exchange ended. */
export type Step = ConnectionStep | 'answer' | 'body'

/** The result of an exchange. It can have both a status and an error. */
export interface Outcome {
  status: number | null
  headers: IncomingHttpHeaders | null
  /** At most `responseLimit` bytes. */
  body: Buffer | null
  /** Why the exchange failed: a network error or the reason of `cut`. `undefined` on success. */
  error: unknown
  /** The step in which it ended. */
  step: Step
  /** Whether it ended while a proxy was to connect to a name that does not resolve here. */
  unresolved: boolean
  phases: Phases
}

export interface ExchangeRequest {
  origin: string
  path: string
  method: string
  headers: Readonly<Record<string, string>>
  body: Uint8Array | null
  /** Bytes of the response's body to read. Then the connection is closed, which is not a failure. */
  responseLimit: number
  /** Called when the connection is ready, right before the request is written. Nothing is sent if it returns false. */
  maySend?: (() => boolean) | undefined
  /** Called with the status of the answer when it has come. */
  answered?: ((status: number) => void) | undefined
}

/** The connections of an agent. */
interface Connections {
  /** Keeps connections and uses them again. */
  readonly kept: Dispatcher
  /** Makes a new connection for each request. */
  readonly fresh: () => Dispatcher
}

/** Why an exchange has no status. */
export function errorOf({ error }: Pick<Outcome, 'error'>): Error {
  return error instanceof Error ? error : new Error('there was no answer')
}

/** The error of an exchange whose `maySend` returned false. */
export class NotSent extends Error {
  constructor() {
    super('the request was not sent')
    this.name = 'NotSent'
  }
}

/** More interim responses (1xx) than any server sends before its response. */
const mostInterim = 20

/** The server sent interim responses without end. */
class EndlessInterim extends Error {
  readonly code = 'ENDLESS_INTERIM'
  constructor() {
    super(`more than ${mostInterim} interim answers (1xx) came before the answer`)
    this.name = 'EndlessInterim'
  }
}

const begin = Buffer.from('HTTP/1.')
const [newline, carriageReturn, zero, one, two] = [0x0a, 0x0d, 0x30, 0x31, 0x32]
/** The place of the first digit of the status in `HTTP/1.1 200`. */
const statusAt = 9

/**
 * Follows the bytes that come over one connection. undici ends a connection at a `100 Continue` that nobody asked for, although a
 * client must accept interim answers (RFC 9110, section 15.2). It skips the other interim answers, so 100 is read as 102.
 */
class AnswerReader {
  /** Whether a byte has come since the last request. */
  begun = false
  /** What comes next: a byte of the status line, of the head of an interim answer, or of the rest. */
  #part: 'status' | 'interim' | 'rest' = 'rest'
  #at = 0
  /** Whether the status is 10x. */
  #isEarly = false
  /** Whether the line has no byte so far. */
  #isEmptyLine = false

  expect(): void {
    this.begun = false
    this.#part = 'status'
    this.#at = 0
  }

  take(chunk: Buffer): void {
    this.begun = true
    // Almost every answer: its status line came whole, and is final.
    const isWhole = this.#part === 'status' && this.#at === 0 && chunk.length > statusAt
    if (isWhole && chunk[0] === begin[0] && chunk[statusAt] !== one) this.#part = 'rest'
    for (let index = 0; index < chunk.length && this.#part !== 'rest'; index += 1) {
      if (this.#part === 'status') this.#takeStatus(chunk, index)
      else this.#takeInterim(chunk[index]!)
    }
  }

  #takeStatus(chunk: Buffer, index: number): void {
    const byte = chunk[index]!
    const at = this.#at
    // Parsers skip line ends before an answer.
    if (at === 0 && (byte === newline || byte === carriageReturn)) return
    this.#at += 1
    if ((at < begin.length && byte !== begin[at]) || (at === statusAt && byte !== one)) this.#part = 'rest'
    else if (at === statusAt + 1) this.#isEarly = byte === zero
    else if (at === statusAt + 2) {
      if (this.#isEarly && byte === zero) chunk[index] = two
      this.#part = 'interim'
      this.#isEmptyLine = false
    }
  }

  #takeInterim(byte: number): void {
    if (byte === carriageReturn) return
    if (byte === newline && this.#isEmptyLine) {
      this.#part = 'status'
      this.#at = 0
    }
    this.#isEmptyLine = byte === newline
  }
}

const readers = new WeakMap<object, AnswerReader>()

/** Follows what a connection reads from now on. undici reads by calling `read`. */
function followAnswers(socket: Socket): void {
  const reader = new AnswerReader()
  const read = socket.read.bind(socket)
  readers.set(socket, reader)
  socket.read = (size?: number): unknown => {
    const chunk = read(size) as Buffer | null
    if (chunk !== null) reader.take(chunk)
    return chunk
  }
}

/** Called when a request was sent, so that an answer may come now. Returns what follows the connection. */
function expectAnswer(socket: object): AnswerReader | undefined {
  const reader = readers.get(socket)
  reader?.expect()
  return reader
}

/** By socket, and by the error that ended it. If several connections fail with one error, it has the trace of the last. */
const traces = new WeakMap<object, ConnectionTrace>()

/** Returns and removes the trace of a connection: later requests over it reuse an existing connection. */
function takeTrace(of: object): ConnectionTrace | undefined {
  const trace = traces.get(of)
  if (trace) traces.delete(of)
  return trace
}

/** The exchange whose request is being written, and the one that is being passed to undici. */
const current: { writing?: Exchange | undefined; beginning?: Exchange | undefined } = {}

// Only this channel tells the socket of a request. undici publishes it synchronously after onRequestStart.
subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: object }
  current.writing?.sent(socket)
  current.writing = undefined
})

/**
 * Times the steps of one connection. `step` is the current step: a literal address needs no look-up, and only https has a
 * TLS handshake.
 */
export class ConnectionTrace {
  readonly phases: ConnectionPhases = {}
  step: ConnectionStep
  /** Whether the name did not resolve here, and the proxy has not connected to it. */
  unresolved = false
  #since = performance.now()

  /** Call it when a connection begins. undici connects synchronously for the exchange that needs a connection. */
  constructor(named: boolean) {
    this.step = named ? 'dns' : 'connect'
    if (current.beginning) current.beginning.connection = this
  }

  /** Records a connection that a proxy made, as one step. */
  connectedByProxy(): void {
    this.unresolved = false
    this.#end('tls')
  }

  lookedUp(): void {
    this.#end('connect')
  }

  follow(socket: Pick<Socket, 'prependOnceListener'>, tls: boolean): void {
    // Before undici's own listener, which starts the exchange.
    socket.prependOnceListener('connect', () => this.#end('tls'))
    if (tls) socket.prependOnceListener('secureConnect', () => this.#end('tls'))
  }

  /** Call it when the connection is there, or with the error that ended it. */
  settled(to: Socket | Error): void {
    traces.set(to, this)
    if (!(to instanceof Error)) followAnswers(to)
  }

  #end(next: ConnectionStep): void {
    const now = performance.now()
    this.phases[this.step] = now - this.#since
    this.#since = now
    this.step = next
  }
}

/**
 * One request and the first bytes of its response, with the time of each part. It never rejects: errors are part of the
 * outcome. It uses neither streams nor signals, because thousands run at a time.
 *
 * Receivers close idle connections whenever they like, also while a request is on its way. So a request over a connection that was
 * used before, which ends before any byte of an answer, is sent once more over a new one. All requests of this service may come twice.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly ended: Promise<Outcome>
  connection: ConnectionTrace | undefined
  readonly #limit: number
  readonly #maySend: ExchangeRequest['maySend']
  readonly #answered: ExchangeRequest['answered']
  readonly #begun = performance.now()
  readonly #phases: Phases = { reused: false, total: 0 }
  #end!: (outcome: Outcome) => void
  #controller: Dispatcher.DispatchController | undefined
  #over = false
  #reader: AnswerReader | undefined
  /** What sends the request once more. Undefined once it was sent again. */
  #again: { options: Dispatcher.DispatchOptions; connections: Connections } | undefined
  #sentAt: number | undefined
  #status: number | null = null
  #headers: IncomingHttpHeaders | null = null
  #interim = 0
  #size = 0
  #chunks: Buffer[] = []

  constructor({
    responseLimit,
    maySend,
    answered,
  }: Pick<ExchangeRequest, 'responseLimit' | 'maySend' | 'answered'>) {
    this.#limit = responseLimit
    this.#maySend = maySend
    this.#answered = answered
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** Passes the request to undici. If undici throws, the exchange fails with that error. */
  start(connections: Connections, { origin, path, method, headers, body }: ExchangeRequest): void {
    const options = { origin, path, method, headers, body }
    this.#again = { options, connections }
    this.#dispatch(connections.kept, options)
  }

  #dispatch(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): void {
    if (this.#over) return
    current.beginning = this
    try {
      dispatcher.dispatch(options, this)
    } catch (error) {
      this.fail(error)
    } finally {
      current.beginning = undefined
    }
  }

  /** Waits for the end, which `signal` brings about now. @throws the signal's reason */
  async until(signal: AbortSignal): Promise<Outcome> {
    const cut = (): void => this.cut(signal.reason as Error)
    if (signal.aborted) cut()
    signal.addEventListener('abort', cut, { once: true })
    const outcome = await this.ended
    signal.removeEventListener('abort', cut)
    signal.throwIfAborted()
    return outcome
  }

  /** Ends the exchange now, even during connecting, and discards data that arrives later. */
  cut(reason: Error): void {
    if (this.#over) return
    this.fail(reason)
    this.#controller?.abort(reason)
  }

  fail(error: unknown): void {
    if (error instanceof Error) this.connection ??= takeTrace(error)
    this.#finish(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#maySend?.() === false) this.fail(new NotSent())
    if (this.#over) {
      controller.abort(new Error('the exchange was over before its connection was there'))
      return
    }
    this.#controller = controller
    current.writing = this
  }

  /** Records that the request is sent over this socket. */
  sent(socket: object): void {
    const trace = takeTrace(socket)
    this.connection = trace
    this.#reader = expectAnswer(socket)
    this.#phases.reused = trace === undefined
    this.#sentAt = performance.now()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) {
      if (++this.#interim <= mostInterim) return
      this.fail(new EndlessInterim())
      controller.abort(new EndlessInterim())
      return
    }
    this.#status = status
    this.#headers = headers
    if (this.#sentAt !== undefined) this.#phases.firstByte = performance.now() - this.#sentAt
    this.#answered?.(status)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    const rest = this.#limit - this.#size
    this.#chunks.push(chunk.length > rest ? chunk.subarray(0, rest) : chunk)
    this.#size += Math.min(chunk.length, rest)
    if (this.#size < this.#limit) return
    this.#finish(undefined)
    controller.abort(new Error('enough of the answer was read'))
  }

  onResponseEnd(): void {
    this.#finish(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const again = this.#again
    if (this.#over || !again || !this.#wasKeptInVain()) return this.fail(error)
    this.#again = undefined
    this.#phases.reused = false
    this.#sentAt = undefined
    this.#dispatch(again.connections.fresh(), { ...again.options, reset: true })
  }

  /** Whether the request went over a connection that was used before, and nothing came back. */
  #wasKeptInVain(): boolean {
    return this.#phases.reused && this.#sentAt !== undefined && this.#reader?.begun === false
  }

  #finish(error: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#again = undefined
    const phases = this.#phases
    if (this.connection) Object.assign(phases, this.connection.phases)
    phases.total = performance.now() - this.#begun
    this.#end({
      status: this.#status,
      headers: this.#headers,
      body: this.#size === 0 ? null : Buffer.concat(this.#chunks),
      error,
      step: this.#step(),
      unresolved: this.connection?.unresolved ?? false,
      phases,
    })
    this.#chunks = []
  }

  #step(): Step {
    if (this.#status !== null) return 'body'
    if (this.#sentAt !== undefined) return 'answer'
    return this.connection?.step ?? 'connect'
  }
}

export interface AgentOptions extends ConnectorOptions {
  /** The address of an HTTP proxy for all connections (CONNECT). Default: no proxy. */
  proxy?: string | undefined
}

/** Makes requests over its own pool of connections. */
export interface OutboundAgent {
  /**
   * Sends one request. Its response is read into memory, limited in size, and each part is timed. After `close` or `destroy` it fails
   * with NotSent.
   */
  exchange(request: ExchangeRequest): Exchange
  /** Waits for the requests in flight, then closes the connections. */
  close(): Promise<void>
  /** Aborts the requests in flight, and closes the connections. */
  destroy(): Promise<void>
}

/**
 * Creates the agent for all requests to addresses that others supply. It uses HTTP/1.1, keeps connections alive briefly, and
 * follows no redirects. It has no time limits: callers limit each exchange by a signal, and the response by bytes. The caller
 * destroys it. undici is loaded at the first request, since it takes a tenth of the memory of a service that makes none.
 */
export function createOutboundAgent({ proxy, ...options }: AgentOptions): OutboundAgent {
  let agent: PooledAgent | undefined
  let opening: Promise<PooledAgent> | undefined
  let closed = false
  const open = async (): Promise<PooledAgent> => {
    const { openPooledAgent } = await import('./guarded-connector.ts')
    if (closed) throw new NotSent()
    return (agent = openPooledAgent(options, proxy))
  }
  return {
    exchange(request) {
      const exchange = new Exchange(request)
      if (closed) exchange.fail(new NotSent())
      else if (agent) exchange.start(agent, request)
      else
        (opening ??= open()).then(
          (opened) => exchange.start(opened, request),
          (error: unknown) => exchange.fail(error),
        )
      return exchange
    },
    async close() {
      closed = true
      await agent?.close()
    },
    async destroy() {
      closed = true
      await agent?.destroy()
    },
  }
}
