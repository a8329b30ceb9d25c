import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { type Scheduler, systemClock } from '../../../runtime/clock.ts'
import { endClient } from '../driver/session-client.ts'

interface Session {
  readonly client: Client
  readonly connected: Promise<unknown>
  /** Called when the session breaks, one for each use. */
  readonly users: Set<(error?: unknown) => void>
}

/** Milliseconds for an answer. */
const answerWithin = 2_000

/** One use of a shared session. */
interface SessionUse {
  /** @throws the error of the statement or the connection; then the session is broken for all its users */
  query<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>>
  /** The last user to leave ends the session. */
  leave(): Promise<void>
}

/** One session of a process for several users that each hold advisory locks on it. The first one connects it. */
export class SharedSession {
  readonly #open: () => Client
  readonly #onBroken: () => void
  readonly #scheduler: Pick<Scheduler, 'after' | 'soon'>
  #current: Session | undefined

  /**
   * @param open returns a client that is not connected yet
   * @param onBroken called once for each session that breaks while it is used
   */
  constructor(
    open: () => Client,
    onBroken: () => void,
    scheduler: Pick<Scheduler, 'after' | 'soon'> = systemClock,
  ) {
    this.#open = open
    this.#onBroken = onBroken
    this.#scheduler = scheduler
  }

  /** @param onBroken called when the session breaks: then join again. It may be called several times, even after `leave`. */
  join(onBroken: (error?: unknown) => void): SessionUse {
    const session = (this.#current ??= this.#start())
    // A new function, because the same one may join twice.
    const user = (error?: unknown): void => onBroken(error)
    session.users.add(user)
    const { client, connected, users } = session
    return {
      query: async <Row extends QueryResultRow>(query: QueryConfig) => {
        try {
          await connected
          return await this.#answered(client.query<Row>(query))
        } catch (error) {
          this.#broken(session, error)
          throw error
        }
      },
      leave: async () => {
        if (!users.delete(user) || users.size > 0) return
        if (this.#current === session) this.#current = undefined
        await endClient(client)
      },
    }
  }

  #start(): Session {
    const client = this.#open()
    const session: Session = { client, connected: client.connect(), users: new Set() }
    session.connected.catch((error: unknown) => this.#broken(session, error))
    // Without a listener, an error would end the process.
    client.on('error', (error) => this.#broken(session, error))
    client.on('end', () => this.#broken(session))
    return session
  }

  /** pg's own limit would break the session of a process that a handler blocked, although its answer is there. */
  #answered<T>(answer: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const cancel = this.#scheduler.after(answerWithin, () =>
      this.#scheduler.soon(() => reject(new Error(`no answer within ${answerWithin} ms`))),
    )
    answer.then(resolve, reject).finally(cancel)
    return promise
  }

  #broken(session: Session, error?: unknown): void {
    if (this.#current === session) {
      this.#current = undefined
      this.#onBroken()
    }
    for (const user of session.users) user(error)
  }
}
