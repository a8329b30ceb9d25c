import type { Socket } from 'node:net'

/** The duration of each step of a connection, in milliseconds. Steps that were skipped or not finished are missing. */
export interface ConnectionPhases {
  dns?: number
  connect?: number
  tls?: number
}

export type ConnectionStep = keyof ConnectionPhases

/** A socket that is about to connect. */
type Connecting = Pick<Socket, 'prependOnceListener'>

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

  constructor(named: boolean) {
    this.step = named ? 'dns' : 'connect'
  }

  /** Records a connection that a proxy made, as one step. */
  connected(): void {
    this.unresolved = false
    this.#end('tls')
  }

  lookedUp(): void {
    this.#end('connect')
  }

  follow(socket: Connecting, tls: boolean): void {
    // Before undici's own listener, which starts the exchange.
    socket.prependOnceListener('connect', () => this.#end('tls'))
    if (tls) socket.prependOnceListener('secureConnect', () => this.#end('tls'))
  }

  #end(next: ConnectionStep): void {
    const now = performance.now()
    this.phases[this.step] = now - this.#since
    this.#since = now
    this.step = next
  }
}

/** By socket, and by the error that ended it. If several connections fail with one error, it has the trace of the last. */
const traces = new WeakMap<object, ConnectionTrace>()

export function attachTrace(of: Socket | Error, trace: ConnectionTrace): void {
  traces.set(of, trace)
}

/** Returns and removes the trace of a connection: later requests over it reuse an existing connection. */
export function takeTrace(of: object): ConnectionTrace | undefined {
  const trace = traces.get(of)
  if (trace) traces.delete(of)
  return trace
}
