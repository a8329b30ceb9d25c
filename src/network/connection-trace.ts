import type { Socket } from 'node:net'

/** How long each step of a connection took, in milliseconds; what was not taken or not finished is missing. */
export interface ConnectionPhases {
  dns?: number
  connect?: number
  tls?: number
}

export type ConnectionStep = keyof ConnectionPhases

/** What the trace listens to: a socket that was just told to connect. */
type Connecting = Pick<Socket, 'prependOnceListener'>

/**
 * Times one connection as its socket reports it. While it is being made, `step` is what it waits for: a name that is
 * an address needs no look-up, and only https shakes hands.
 */
export class ConnectionTrace {
  readonly phases: ConnectionPhases = {}
  step: ConnectionStep
  #since = performance.now()

  constructor(named: boolean) {
    this.step = named ? 'dns' : 'connect'
  }

  /** Where a proxy makes the connection: all that it took. */
  connected(): void {
    this.#end('tls')
  }

  lookedUp(): void {
    this.#end('connect')
  }

  follow(socket: Connecting, tls: boolean): void {
    // Before undici's own listener, which begins the exchange.
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

/** By socket, and by the error that ended it: an error that comes in several connections says only the last. */
const traces = new WeakMap<object, ConnectionTrace>()

export function keepTrace(of: Socket | Error, trace: ConnectionTrace): void {
  traces.set(of, trace)
}

/** The trace of a connection, once: who asks again has got a connection that was there before. */
export function takeTrace(of: object): ConnectionTrace | undefined {
  const trace = traces.get(of)
  if (trace) traces.delete(of)
  return trace
}
