import type { Socket } from 'node:net'
import pg, { type ClientConfig } from 'pg'
import { gatheringSocket } from './gathering-socket.ts'
import { ServerMoved, type Place } from './locator.ts'
import { runUnnamed } from './keeps-prepared.ts'

/** Work on a session before its first use. A rejection ends the session, and the connection fails with it. */
export type SessionCheck = (client: pg.Client) => Promise<void>

/** Where sessions lead to. */
export interface Route {
  find(): Promise<{ place: Place; remembered: boolean }>
  /** Told that a place is not to be remembered. */
  forget(place: Place): void
}

export interface SessionClientConfig extends ClientConfig {
  route: Route
  /** Milliseconds that the server may take for the connection; those of `connectionTimeoutMillis` are the pool's. */
  connectWithin: number
  /** Whether a server that does not bind the sign-in to the TLS connection is refused. */
  channelBinding: boolean
  /** Whether its statements are to be prepared without names. */
  unnamed: boolean
  /** Resolves when the session has begun; a rejection says that the server is not the one that is wanted. */
  begin: SessionCheck
  /** Resolves when the session may be used. */
  check: SessionCheck
}

/** What the types of pg leave out. */
interface Internals {
  connectionParameters: { host: string; port: number }
}

/** A client whose `connect` finds its server, and ends when its session is checked. A pool hands out only such sessions. */
export class SessionClient extends pg.Client {
  readonly #config: SessionClientConfig
  readonly #socket: Socket
  /** Whether the server offered to bind the sign-in to the TLS connection; pg does so then. */
  #bound = false

  constructor(config: SessionClientConfig) {
    const socket = gatheringSocket()
    super({
      ...config,
      connectionTimeoutMillis: config.connectWithin,
      enableChannelBinding: config.channelBinding,
      stream: () => socket,
    })
    this.#config = config
    this.#socket = socket
    if (config.unnamed) runUnnamed(this)
    if (config.channelBinding)
      this.connection.on('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
        this.#bound = mechanisms.includes('SCRAM-SHA-256-PLUS')
      })
  }

  override connect(): Promise<pg.Client>
  override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void
  override connect(
    callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
  ): Promise<pg.Client> | void {
    const checked = this.#connect()
    if (!callback) return checked
    const answer = callback as (error: Error | null, client?: pg.Client) => void
    // In a turn of its own: what the callback throws is not an error of the connection.
    checked.then(
      () => process.nextTick(answer, null, this),
      (error: Error) => process.nextTick(answer, error),
    )
  }

  /** Closes the connection without a word: nobody may answer there. What waits for an answer fails as when the server had gone. */
  abandon(): void {
    this.#socket.destroy()
  }

  async #connect(): Promise<pg.Client> {
    // Until the caller has the session, its errors are told by what was asked on it; without a listener they would end the process.
    const ignore = (): void => undefined
    this.on('error', ignore)
    try {
      await this.#reach()
      await this.#config.check(this)
    } catch (error) {
      // Marks it as ended, so that the loss of the socket is no further error. A server out of reach would never confirm it.
      void this.end()
      this.connection.stream.destroy()
      throw error
    }
    // After the caller has put a listener of its own in place.
    setImmediate(() => this.removeListener('error', ignore))
    return this
  }

  async #reach(): Promise<void> {
    const { route, begin, channelBinding } = this.#config
    const { place, remembered } = await route.find()
    // The pool gave it up while the server was looked for; connected, the socket would come to life again.
    if (this.#socket.destroyed) throw new Error('Connection terminated due to connection timeout')
    this.#goTo(place)
    try {
      await super.connect()
      if (channelBinding && !this.#bound) throw new Error('the server does not offer channel binding')
      await begin(this)
    } catch (error) {
      route.forget(place)
      throw remembered ? new ServerMoved(error) : error
    }
  }

  #goTo({ host, address }: Place): void {
    const { connectionParameters } = this as unknown as Internals
    if (host.name !== '') this.host = connectionParameters.host = host.name
    this.port = connectionParameters.port = host.port
    if (address === undefined) return
    // Certificates are checked for the name that pg has.
    const connect = this.#socket.connect.bind(this.#socket)
    this.#socket.connect = ((port: number) => connect({ port, host: address })) as Socket['connect']
  }
}
