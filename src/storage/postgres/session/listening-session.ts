import type { Client } from 'pg'
import type { Connector } from '../pool/connector.ts'
import { endClient } from '../driver/session-client.ts'
import { queuedQueries, type QueuedQueries } from './queued-queries.ts'
import type { SessionCheck } from '../driver/session-client.ts'

const reconnectAfter = 1_000
/** Milliseconds that an answer may take. */
const answerWithin = 4_000
/** Milliseconds between two proofs that the session lives: a path that went silent tells nothing by itself. */
const probeEvery = 5_000

export interface Session extends QueuedQueries {
  readonly client: Client
}

/** What one part of the process hears by LISTEN. */
export interface Channel {
  readonly name: string
  /** @param from the connection that sent it, as the server names it */
  hear(payload: string, session: Session, from: number): void
  /** A session listens to the channel from now on. A rejection ends the session. */
  opened?(session: Session): Promise<void>
  /** The session has ended: what is notified from now on is not heard. */
  closed?(): void
}

/** The session by which a process listens, one for all channels. It is made when the first one joins, and made anew when it breaks. */
export class ListeningSession {
  readonly #connector: Connector
  readonly #onError: (error: Error) => void
  readonly #check: SessionCheck
  readonly #channels: Channel[] = []
  #session: Session | undefined
  #ready = false
  #retry: NodeJS.Timeout | undefined
  #probe: NodeJS.Timeout | undefined
  #closed = false

  /** @param check what the session is asked, again and again */
  constructor(connector: Connector, onError: (error: Error) => void, check: SessionCheck) {
    this.#check = check
    this.#connector = connector
    this.#onError = onError
  }

  join(channel: Channel): void {
    this.#channels.push(channel)
    if (this.#channels.length === 1) void this.#connect()
    else if (this.#ready) {
      const session = this.#session!
      this.#listen(session, channel).catch((error: Error) => this.broken(session, error))
    }
  }

  /** Ends a session that gave no answer; another one is made. Does nothing where that has happened already. */
  broken(session: Session, error?: Error): void {
    if (this.#session !== session) return
    this.#session = undefined
    this.#ready = false
    clearTimeout(this.#probe)
    for (const channel of this.#channels) channel.closed?.()
    endClient(session.client).catch(() => undefined)
    if (error) this.#onError(error)
    this.#retry = setTimeout(() => void this.#connect(), reconnectAfter)
    this.#retry.unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#probe)
    const session = this.#session
    this.#session = undefined
    if (!session) return
    for (const channel of this.#channels) channel.closed?.()
    await endClient(session.client).catch(this.#onError)
  }

  async #connect(): Promise<void> {
    if (this.#closed) return
    const client = this.#connector.newClient({ answerWithin, name: 'postern-listen' })
    const session: Session = { client, ...queuedQueries(client) }
    this.#session = session
    client.on('error', (error) => this.broken(session, error))
    client.on('end', () => this.broken(session))
    client.on('notification', ({ channel, payload = '', processId }) => {
      for (const one of this.#channels) if (one.name === channel) one.hear(payload, session, processId)
    })
    try {
      await client.connect()
      // One that joins meanwhile is behind the last one, and has its turn too.
      for (const channel of this.#channels) await this.#listen(session, channel)
      if (this.#session !== session) return
      this.#ready = true
      this.#prove(session)
    } catch (error) {
      this.broken(session, error as Error)
    }
  }

  async #listen(session: Session, channel: Channel): Promise<void> {
    await session.query(`listen ${channel.name}`)
    await channel.opened?.(session)
  }

  #prove(session: Session): void {
    this.#probe = setTimeout(() => {
      session.inTurn(this.#check).then(
        () => {
          if (this.#session === session) this.#prove(session)
        },
        (error: Error) => this.broken(session, error),
      )
    }, probeEvery)
    this.#probe.unref()
  }
}
