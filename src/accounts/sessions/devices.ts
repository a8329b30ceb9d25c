import type { Database, Tx } from '../../storage/database.ts'
import type { TokenFamilies } from '../tokens/token-families.ts'
import type { ListedCredential } from '../tokens/credential-store.ts'
import type { Sessions } from './sessions.ts'

/** Devices in a list at most. */
const longestList = 100

/** A browser with a session, or an app with a token family. */
export type Device = ReturnType<typeof deviceOf>

type RecordRevocation = (tx: Tx) => Promise<void>

/** Limits a call to the token families of one app, by its client id; `undefined` means all of the user's devices. */
type OnlyApp = string | undefined

/** A user's browser sessions and token families of apps as one list. */
export class Devices {
  readonly #parts: { database: Database; sessions: Sessions; tokenFamilies: TokenFamilies }

  constructor(parts: { database: Database; sessions: Sessions; tokenFamilies: TokenFamilies }) {
    this.#parts = parts
  }

  /** The current device first, then the newest first; a hundred at most. */
  async list(userId: string, currentId: string | undefined, onlyApp?: OnlyApp): Promise<Device[]> {
    const [sessions, families] = await Promise.all([
      onlyApp === undefined ? this.#parts.sessions.list(userId, longestList) : [],
      this.#parts.tokenFamilies.list(userId, longestList, { clientId: onlyApp }),
    ])
    const names = await this.#namesOf([...sessions, ...families].flatMap((row) => row.impersonator_id ?? []))
    const devices = [
      ...sessions.map((row) => deviceOf(row, null, { currentId, names })),
      ...families.map((row) => deviceOf(row, row.client_id, { currentId, names })),
    ]
    return devices
      .toSorted((a, b) => Number(b.current) - Number(a.current) || b.createdAt - a.createdAt)
      .slice(0, longestList)
  }

  /** The names of admins by their ids. Users do not see admins' e-mail addresses. */
  async #namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    if (ids.length === 0) return new Map()
    const users = this.#parts.database.reader.selectFrom('users').select(['id', 'name'])
    return new Map((await users.where('id', 'in', ids).execute()).map(({ id, name }) => [id, name]))
  }

  /** Revokes one device and runs `record` in the same transaction. False when the user has no such device. */
  async revoke(userId: string, id: string, record: RecordRevocation, onlyApp?: OnlyApp): Promise<boolean> {
    return (
      (onlyApp === undefined && (await this.#parts.sessions.revoke(userId, id, record))) ||
      (await this.#parts.tokenFamilies.revoke(userId, id, record, { clientId: onlyApp }))
    )
  }

  /** Revokes all devices but the caller's. */
  async revokeOthers(
    userId: string,
    currentId: string | undefined,
    record: (tx: Tx, count: number) => Promise<void>,
    onlyApp?: OnlyApp,
  ): Promise<void> {
    await this.#parts.database.transaction(async (tx) => {
      const count =
        onlyApp === undefined
          ? await this.revokeAll(tx, userId, currentId)
          : await this.#parts.tokenFamilies.revokeAll(tx, userId, { exceptId: currentId, clientId: onlyApp })
      await record(tx, count)
    })
  }

  /**
   * Revokes all of a user's devices but one, or those that signed in with one provider. Returns their number. The browser session
   * of an excepted app stays too: its end would end the app.
   */
  async revokeAll(tx: Tx, userId: string, exceptId?: string, provider?: string): Promise<number> {
    const ownSession =
      exceptId === undefined ? undefined : await this.#parts.tokenFamilies.sessionOf(tx, exceptId)
    const sessions = await this.#parts.sessions.revokeAll(tx, userId, {
      exceptId: ownSession ?? exceptId,
      provider,
    })
    return sessions + (await this.#parts.tokenFamilies.revokeAll(tx, userId, { exceptId, provider }))
  }
}

function deviceOf(
  row: ListedCredential,
  app: string | null,
  { currentId, names }: { currentId: string | undefined; names: ReadonlyMap<string, string | null> },
) {
  const { impersonator_id: adminId, impersonation_reason: reason } = row
  return {
    /** Of the session or of the token family. */
    id: row.id,
    kind: app === null ? ('browser' as const) : ('app' as const),
    current: row.id === currentId,
    device: adminId === null ? deviceName(row.user_agent) : 'Administrator',
    /** The client id. */
    app,
    provider: row.provider,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    /** The admin who acts for the user there, and why. */
    impersonation: adminId === null ? null : { by: names.get(adminId) ?? null, reason: reason ?? '' },
  }
}

/** The first match counts: a user agent also names the browsers that the browser descends from. */
const browsers: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPiOS|OPX)\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bDuckDuckGo\/|\bDdg\//, 'DuckDuckGo'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bChromium\//, 'Chromium'],
  [/\bVersion\/[\d.]{1,20} (?:Mobile\/\S{1,20} )?Safari\//, 'Safari'],
  [/\bMSIE |\bTrident\//, 'Internet Explorer'],
  [/\bElectron\//, 'An app'],
  [/^curl\//, 'curl'],
  [/^PostmanRuntime\//, 'Postman'],
]

const systems: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

/**
 * Describes a user agent, such as `Firefox on Linux`, so that people recognize their devices. Clients can send any user
 * agent, so this is for display only.
 */
export function deviceName(userAgent: string | null): string {
  const { browser, system } = describeDevice(userAgent)
  if (browser && system) return `${browser} on ${system}`
  return browser ?? (system ? `A browser on ${system}` : 'Unknown device')
}

/** The names of the browser and the system, as far as they are known. */
export function describeDevice(userAgent: string | null): {
  browser: string | undefined
  system: string | undefined
} {
  const agent = userAgent ?? ''
  return { browser: firstMatch(browsers, agent), system: firstMatch(systems, agent) }
}

function firstMatch(names: readonly [RegExp, string][], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}
