import type { Client, QueryResultRow } from 'pg'
import { endClient } from '../driver/session-client.ts'
import { queuedQueries, type Query } from './queued-queries.ts'

interface Session {
  readonly client: Client
  readonly query: Query
  readonly connected: Promise<unknown>
  /** Those that use it, each told when it breaks. */
  readonly users: Set<(error?: unknown) => void>
}

/** The use of a session that others use as well. */
export interface SessionUse {
  /** @throws what the statement or the connection failed with; then the session is broken for all that use it. */
  query: Query
  /** The last one that leaves ends the session. */
  leave(): Promise<void>
}

/** One session of a process for several that each hold advisory locks on it. It is connected for the first of them. */
export class SharedSession {
  readonly #open: () => Client
  #current: Session | undefined

  /** @param open a client that is not connected yet */
  constructor(open: () => Client) {
    this.#open = open
  }

  /** @param onBroken told when the session breaks: a new one is to be joined then. It may come more than once, and behind `leave`. */
  join(onBroken: (error?: unknown) => void): SessionUse {
    const session = (this.#current ??= this.#start())
    // Each call is a use of its own, be it by the same function.
    const told = (error?: unknown): void => onBroken(error)
    session.users.add(told)
    const { client, connected, query, users } = session
    return {
      query: async <Row extends QueryResultRow>(text: string, values?: readonly unknown[], name?: string) => {
        try {
          await connected
          return await query<Row>(text, values, name)
        } catch (error) {
          this.#broken(session, error)
          throw error
        }
      },
      leave: async () => {
        if (!users.delete(told) || users.size > 0) return
        if (this.#current === session) this.#current = undefined
        await endClient(client)
      },
    }
  }

  #start(): Session {
    const client = this.#open()
    const session: Session = {
      client,
      query: queuedQueries(client).query,
      connected: client.connect(),
      users: new Set(),
    }
    session.connected.catch((error: unknown) => this.#broken(session, error))
    // Without a listener an error on a connection would end the process.
    client.on('error', (error) => this.#broken(session, error))
    client.on('end', () => this.#broken(session))
    return session
  }

  #broken(session: Session, error?: unknown): void {
    if (this.#current === session) this.#current = undefined
    for (const told of session.users) told(error)
  }
}
