import { byService, type RecordAudit } from '../../accounts/audit/audit.ts'
import { openGuardedFetch } from '../../network/guarded-fetch.ts'
import { periodicWorker, type PeriodicWorker, type Worker } from '../../runtime/worker.ts'
import { whenAborted } from '../../runtime/abort-broadcast.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Client } from '../clients/client.ts'
import type { Clients } from '../clients/clients.ts'
import { randomUUID } from 'node:crypto'
import type { SigningKeys } from '../../accounts/tokens/signing-keys.ts'
import type { ModuleParts } from '../../http/service-module.ts'

interface BackchannelLogoutsParts extends Pick<ModuleParts, 'database' | 'log' | 'clock' | 'baseUrl'> {
  keys: SigningKeys
  clients: Clients
  record: RecordAudit
  allowPrivateNetwork: boolean
}

/** What a notice needs of its app. */
type ToldApp = Pick<Client, 'id' | 'backchannelLogoutUri' | 'idTokenAlgorithm'>

/** Milliseconds between two looks for notices. */
const interval = 1_000
/** Milliseconds for one attempt. */
const timeout = 10_000
/** Notices that are being sent at most, and how many make an app busy: a slow app does not delay the others. */
const [mostInFlight, mostPerApp] = [32, 4]

/**
 * Tells apps that sign-ins ended (OpenID Connect Back-Channel Logout 1.0). The notices are rows, so they survive a restart, and
 * a sign-out does not wait for them. An app that does not accept a notice within five attempts is not told; the audit log has
 * an entry.
 */
export class BackchannelLogouts implements Worker {
  readonly name = 'backchannel-logouts'
  readonly #parts: BackchannelLogoutsParts
  readonly #rounds: PeriodicWorker
  readonly #sending = new Map<Promise<void>, string>()
  readonly #stopping = new AbortController()
  readonly #outside

  constructor(parts: BackchannelLogoutsParts) {
    const { allowPrivateNetwork, clock } = parts
    this.#parts = parts
    this.#outside = openGuardedFetch({ allowPrivateNetwork, timeout })
    this.#rounds = periodicWorker(this.name, clock, interval, () => this.#round())
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(deadline: AbortSignal): Promise<void> {
    await this.#rounds.stop()
    whenAborted(deadline, () => this.#stopping.abort(new Error('the service is stopping')))
    await Promise.all(this.#sending.keys())
    await this.#outside.destroy()
  }

  async #round(): Promise<void> {
    try {
      while (this.#sending.size < mostInFlight) {
        const room = Math.min(mostPerApp, mostInFlight - this.#sending.size)
        const claimed = await claimLogouts(this.#parts, room, this.#busyApps())
        if (claimed.length === 0) return
        for (const logout of claimed) this.#start(logout)
      }
    } catch (error) {
      this.#warn(error)
    }
  }

  #busyApps(): string[] {
    const inFlight = [...this.#sending.values()]
    const count = (app: string): number => inFlight.filter((one) => one === app).length
    return [...new Set(inFlight)].filter((app) => count(app) >= mostPerApp)
  }

  #start(logout: ClaimedLogout): void {
    const sending = this.#tell(logout)
      .catch((error: unknown) => this.#warn(error))
      .finally(() => this.#sending.delete(sending))
    this.#sending.set(sending, logout.client_id)
  }

  async #tell(logout: ClaimedLogout): Promise<void> {
    const told = deletedApp(logout) ?? (await this.#parts.clients.find(logout.client_id))
    // The app was deleted after the claim, or just before the sign-out: the deletion is adding the address to the notice.
    if (told === undefined && (await putOff(this.#parts, logout))) return
    if (told?.backchannelLogoutUri === undefined) return removeLogout(this.#parts, logout)
    const status = await this.#post(told, told.backchannelLogoutUri, logout)
    if (status !== undefined && status >= 200 && status <= 299) return removeLogout(this.#parts, logout)
    // A stop cuts the attempt short: another process, or this one after its start, makes it again.
    if (this.#stopping.signal.aborted || (await putOff(this.#parts, logout))) return
    await removeLogout(this.#parts, logout, (tx) =>
      this.#parts.record(tx, {
        ...byService,
        action: 'app.logout_failed',
        userId: logout.user_id,
        target: `app:${told.id}`,
        code: status === undefined ? 'no-answer' : 'refused',
        detail: { attempts: logout.attempts + 1, status: status ?? null },
      }),
    )
  }

  /** The status of the app's answer; `undefined` without one. Redirects are not followed. */
  async #post(client: ToldApp, url: string, logout: ClaimedLogout): Promise<number | undefined> {
    const body = new URLSearchParams({ logout_token: await logoutToken(this.#parts, client, logout) })
    try {
      const { status } = await this.#outside.fetch(url, {
        method: 'POST',
        body,
        signal: this.#stopping.signal,
      })
      return status
    } catch (error) {
      this.#parts.log.warn({ err: error, app: client.id }, 'could not notify an app that a sign-in ended')
      return undefined
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'could not send back-channel logouts')
  }
}

/** The app of a notice that was made when the app was deleted. */
function deletedApp({ client_id: id, uri, algorithm }: ClaimedLogout): ToldApp | undefined {
  if (uri === null || algorithm === null) return undefined
  return { id, backchannelLogoutUri: uri, idTokenAlgorithm: algorithm as Client['idTokenAlgorithm'] }
}

/** A notice that this process sends. `attempts` counts failed ones. */
type ClaimedLogout = Awaited<ReturnType<typeof claimLogouts>>[number]

/** Milliseconds that a claim lasts: longer than an attempt. */
const claimTime = 60_000
/** Milliseconds from each failed attempt to the next: five attempts within a quarter of an hour. */
const delays = [15_000, 60_000, 180_000, 600_000] as const

/**
 * Claims due notices, the oldest first. accounts/sessions/apps-of-sessions.ts inserts them. Another process can claim them a minute later.
 * @param room how many to claim
 * @param busy apps that get no further notices now
 */
async function claimLogouts(
  { database, clock }: BackchannelLogoutsParts,
  room: number,
  busy: readonly string[],
) {
  const now = clock.now()
  // Read first, so that an idle service writes nothing.
  const due = await dueLogouts(database.reader, now, busy).limit(room).execute()
  if (due.length === 0) return []
  const ids = due.map(({ family_id }) => family_id)
  return database.inBackground((tx) =>
    tx
      .updateTable('backchannel_logouts')
      .set({ claimed_until: now + claimTime })
      .where('family_id', 'in', ids)
      .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
      .returning(['family_id', 'user_id', 'client_id', 'attempts', 'uri', 'algorithm'])
      .execute(),
  )
}

/** Removes a notice. @param work runs in the same transaction */
async function removeLogout(
  { database }: BackchannelLogoutsParts,
  { family_id }: ClaimedLogout,
  work?: (tx: Tx) => Promise<void>,
): Promise<void> {
  await database.inBackground(async (tx) => {
    await tx.deleteFrom('backchannel_logouts').where('family_id', '=', family_id).execute()
    await work?.(tx)
  })
}

/** Puts a notice off to its next attempt. False when this was the last one: the notice is then still claimed. */
async function putOff(
  { database, clock }: BackchannelLogoutsParts,
  { family_id, attempts }: ClaimedLogout,
): Promise<boolean> {
  const delay = delays[attempts]
  if (delay === undefined) return false
  const next = { attempts: attempts + 1, due_at: clock.now() + delay, claimed_until: null }
  await database.inBackground((tx) =>
    tx.updateTable('backchannel_logouts').set(next).where('family_id', '=', family_id).execute(),
  )
  return true
}

function dueLogouts(db: Database['reader'], now: number, busy: readonly string[]) {
  const due = db
    .selectFrom('backchannel_logouts')
    .select('family_id')
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
    .orderBy('due_at')
  return busy.length === 0 ? due : due.where('client_id', 'not in', busy)
}

/** Seconds that a logout token is valid: recipients read it at once (section 2.4: preferably at most two minutes). */
const lifetime = 120

/** Signs the logout token of a sign-in that ended (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
function logoutToken(
  { keys, clock, baseUrl }: BackchannelLogoutsParts,
  app: ToldApp,
  { user_id: userId, family_id: familyId }: ClaimedLogout,
): Promise<string> {
  const now = Math.floor(clock.now() / 1000)
  return keys.sign(
    {
      iss: baseUrl(),
      sub: userId,
      aud: app.id,
      iat: now,
      exp: now + lifetime,
      jti: randomUUID(),
      sid: familyId,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    },
    { typ: 'logout+jwt', algorithm: app.idTokenAlgorithm },
  )
}
