import type { Database, Tx } from '../storage/database.ts'
import { deviceName } from './device-name.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { ListedSession, Sessions } from './sessions.ts'

/** Devices in a list. */
const most = 100

/** A browser that is signed in, or an app that has tokens. */
export interface Device {
  /** Of the session or of the token family. */
  id: string
  kind: 'browser' | 'app'
  current: boolean
  /** In words, such as `Firefox on Linux`; for an app the browser that its user signed in with. */
  device: string
  /** The app's client id. */
  app: string | null
  provider: string
  address: string | null
  userAgent: string | null
  createdAt: number
  lastSeenAt: number
  expiresAt: number
}

type Record = (tx: Tx) => Promise<void>

/** The client id of the app whose token families alone are seen and ended; `undefined` means all of the user's devices. */
type OnlyApp = string | undefined

/** Where a user is signed in: sessions of browsers and token families of apps, in one list. */
export class Devices {
  readonly #database: Database
  readonly #sessions: Sessions
  readonly #refreshTokens: RefreshTokens

  constructor(database: Database, sessions: Sessions, refreshTokens: RefreshTokens) {
    this.#database = database
    this.#sessions = sessions
    this.#refreshTokens = refreshTokens
  }

  /** The current one, then the others, the newest first; a hundred at most. */
  async list(userId: string, currentId: string | undefined, onlyApp?: OnlyApp): Promise<Device[]> {
    const [sessions, families] = await Promise.all([
      onlyApp === undefined ? this.#sessions.list(userId, most) : [],
      this.#refreshTokens.list(userId, most, { clientId: onlyApp }),
    ])
    const devices = [
      ...sessions.map((row) => deviceOf(row, null, currentId)),
      ...families.map((row) => deviceOf(row, row.client_id, currentId)),
    ]
    return devices
      .toSorted((a, b) => Number(b.current) - Number(a.current) || b.createdAt - a.createdAt)
      .slice(0, most)
  }

  /** Ends one of them; `record` writes it down in the same transaction. False when the user has no such device. */
  async revoke(userId: string, id: string, record: Record, onlyApp?: OnlyApp): Promise<boolean> {
    return (
      (onlyApp === undefined && (await this.#sessions.revoke(userId, id, record))) ||
      (await this.#refreshTokens.revoke(userId, id, record, { clientId: onlyApp }))
    )
  }

  /** Ends all but the one that asks. */
  async revokeOthers(
    userId: string,
    currentId: string | undefined,
    record: (tx: Tx, count: number) => Promise<void>,
    onlyApp?: OnlyApp,
  ): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const count =
        onlyApp === undefined
          ? await this.revokeAll(tx, userId, currentId)
          : await this.#refreshTokens.revokeAll(tx, userId, { exceptId: currentId, clientId: onlyApp })
      await record(tx, count)
    })
  }

  /** Ends all of a user's devices but one, or those that began by one provider, within a transaction; gives how many. */
  async revokeAll(tx: Tx, userId: string, exceptId?: string, provider?: string): Promise<number> {
    const sessions = await this.#sessions.revokeAll(tx, userId, exceptId, provider)
    return sessions + (await this.#refreshTokens.revokeAll(tx, userId, { exceptId, provider }))
  }
}

function deviceOf(row: ListedSession, app: string | null, currentId: string | undefined): Device {
  return {
    id: row.id,
    kind: app === null ? 'browser' : 'app',
    current: row.id === currentId,
    device: deviceName(row.user_agent),
    app,
    provider: row.provider,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
  }
}
