import { subscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import {
  takeTrace,
  type ConnectionPhases,
  type ConnectionStep,
  type ConnectionTrace,
} from './connection-trace.ts'

/** How long each part took, in milliseconds. What did not happen, or not to its end, is missing. */
export interface Phases extends ConnectionPhases {
  /** Whether it went over a connection that an earlier exchange had made. */
  reused: boolean
  /** From the request to the head of the answer. */
  firstByte?: number
  /** From the beginning to the end of what was read. */
  total: number
}

/** What an exchange that has ended was waiting for. */
export type Step = ConnectionStep | 'answer' | 'body'

/** How an exchange ended. It can have failed when a status had come already. */
export interface Outcome {
  status: number | null
  headers: IncomingHttpHeaders | null
  /** At most as much as was asked for. */
  body: Buffer | null
  /** Why it is not whole: an error of the network, or what it was cut with; `undefined` when nothing failed. */
  error: unknown
  /** What it waited for when it ended. */
  step: Step
  phases: Phases
}

export interface ExchangeRequest {
  origin: string
  path: string
  method: 'POST'
  headers: Readonly<Record<string, string>>
  body: Uint8Array
  /** Bytes of the answer's body that are read; then the connection is closed, which is no failure. */
  responseLimit: number
  /** Asked in the very moment in which the request is written, when its connection is there. If not, nothing is sent. */
  maySend?: (() => boolean) | undefined
}

/** What an exchange fails with that was not to be sent. */
export class NotSent extends Error {
  constructor() {
    super('the request was not sent')
    this.name = 'NotSent'
  }
}

/** More interim answers (1xx) than any server sends before its answer. */
const mostInterim = 20

/** The answer never comes: interim answers come without end. */
export class EndlessInterim extends Error {
  readonly code = 'ENDLESS_INTERIM'
  constructor() {
    super(`more than ${mostInterim} interim answers (1xx) came before the answer`)
    this.name = 'EndlessInterim'
  }
}

/** The one whose request is written in this very moment, and the one that is handed to undici. */
const current: { writing?: Exchange | undefined; beginning?: Exchange | undefined } = {}

// undici tells the socket of a request nowhere else. It does so right behind onRequestStart, in the same call.
subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: object }
  current.writing?.sent(socket)
  current.writing = undefined
})

/** For the connector: a connection is made at once for the exchange that needs it. */
export function connecting(trace: ConnectionTrace): void {
  if (current.beginning) current.beginning.connection = trace
}

/**
 * One request and what is read of its answer, with the time of each part. It does not reject: whatever goes wrong is
 * part of the outcome. Made for many at a time: no stream, no signal.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly ended: Promise<Outcome>
  connection: ConnectionTrace | undefined
  readonly #limit: number
  readonly #maySend: ExchangeRequest['maySend']
  readonly #begun = performance.now()
  readonly #phases: Phases = { reused: false, total: 0 }
  #end!: (outcome: Outcome) => void
  #controller: Dispatcher.DispatchController | undefined
  #over = false
  #sentAt: number | undefined
  #status: number | null = null
  #headers: IncomingHttpHeaders | null = null
  #interim = 0
  #size = 0
  #chunks: Buffer[] = []

  constructor({ responseLimit, maySend }: Pick<ExchangeRequest, 'responseLimit' | 'maySend'>) {
    this.#limit = responseLimit
    this.#maySend = maySend
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** Hands the request to undici; what that throws ends the exchange. */
  begin(
    dispatcher: Dispatcher,
    { responseLimit: _limit, maySend: _maySend, ...request }: ExchangeRequest,
  ): void {
    if (this.#over) return
    current.beginning = this
    try {
      dispatcher.dispatch(request, this)
    } catch (error) {
      this.fail(error)
    } finally {
      current.beginning = undefined
    }
  }

  /** Ends it now, also while the connection is still being made. What is on its way is thrown away. */
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

  /** The request goes out over this socket. */
  sent(socket: object): void {
    const trace = takeTrace(socket)
    this.connection = trace
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
    this.fail(error)
  }

  #finish(error: unknown): void {
    if (this.#over) return
    this.#over = true
    const phases = this.#phases
    if (this.connection) Object.assign(phases, this.connection.phases)
    phases.total = performance.now() - this.#begun
    this.#end({
      status: this.#status,
      headers: this.#headers,
      body: this.#size === 0 ? null : Buffer.concat(this.#chunks),
      error,
      step: this.#step(),
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
