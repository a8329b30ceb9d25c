import type { Client } from 'pg'
import { endClient, type SessionCheck } from '../driver/session-client.ts'
import type { Connector } from '../pool/connector.ts'

/** Milliseconds before the next attempt to connect. */
const reconnectAfter = 1_000
/** Milliseconds for a statement. */
const answerWithin = 4_000
/** Milliseconds between two checks of the session, because a network path can become silent without an error. */
const checkEvery = 5_000

/** A channel of LISTEN, and what happens to it. */
interface Channel {
  readonly name: string
  /** @param from the connection that sent it: the process id of its server process */
  hear(payload: string, session: Client, from: number): void
  /** The session listens to the channel. A rejection ends the session. */
  opened?(session: Client): Promise<void>
  /** The session has ended: later notifications are lost. */
  closed?(): void
}

/** The session on which a process listens, for all channels. It is opened for the first one, and again whenever it breaks. */
export class ListeningSession {
  readonly #connector: Connector
  readonly #onError: (error: Error) => void
  readonly #check: SessionCheck
  readonly #channels: Channel[] = []
  #session: Client | undefined
  #isReady = false
  #reconnectTimer: NodeJS.Timeout | undefined
  #checkTimer: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param check runs on the session every five seconds */
  constructor(connector: Connector, onError: (error: Error) => void, check: SessionCheck) {
    this.#check = check
    this.#connector = connector
    this.#onError = onError
  }

  join(channel: Channel): void {
    this.#channels.push(channel)
    if (this.#channels.length === 1) void this.#connect()
    else if (this.#isReady) {
      const session = this.#session!
      listen(session, channel).catch((error: Error) => this.broken(session, error))
    }
  }

  /** Replaces a session that failed, unless that has happened already. */
  broken(session: Client, error?: Error): void {
    if (this.#session !== session) return
    this.#session = undefined
    this.#isReady = false
    clearTimeout(this.#checkTimer)
    for (const channel of this.#channels) channel.closed?.()
    endClient(session).catch(() => undefined)
    if (error) this.#onError(error)
    this.#reconnectTimer = setTimeout(() => void this.#connect(), reconnectAfter)
    this.#reconnectTimer.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#reconnectTimer)
    clearTimeout(this.#checkTimer)
    const session = this.#session
    this.#session = undefined
    if (!session) return
    for (const channel of this.#channels) channel.closed?.()
    await endClient(session).catch(this.#onError)
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return
    const session = this.#connector.newClient({ answerWithin, name: 'postern-listen' })
    this.#session = session
    session.on('error', (error) => this.broken(session, error))
    session.on('end', () => this.broken(session))
    session.on('notification', ({ channel, payload = '', processId }) => {
      for (const one of this.#channels) if (one.name === channel) one.hear(payload, session, processId)
    })
    try {
      await session.connect()
      // This includes channels that join meanwhile.
      for (const channel of this.#channels) await listen(session, channel)
      if (this.#session !== session) return
      this.#isReady = true
      this.#checkLater(session)
    } catch (error) {
      this.broken(session, error as Error)
    }
  }

  #checkLater(session: Client): void {
    this.#checkTimer = setTimeout(() => {
      this.#check(session).then(
        () => {
          if (this.#session === session) this.#checkLater(session)
        },
        (error: Error) => this.broken(session, error),
      )
    }, checkEvery)
    this.#checkTimer.unref()
  }
}

async function listen(session: Client, channel: Channel): Promise<void> {
  await session.query(`listen ${channel.name}`)
  await channel.opened?.(session)
}
