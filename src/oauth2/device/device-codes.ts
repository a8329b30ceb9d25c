import { type AuditOrigin, storableUserAgent } from '../../accounts/audit/audit.ts'
import type { Family } from '../../accounts/tokens/token-families.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { hashToken, newToken } from '../../crypto/secrets.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { type Client, refreshLifetime } from '../clients/client.ts'
import { randomInt } from 'node:crypto'
import type { OAuth2Basis } from '../services.ts'

/** Seconds that a person has for the approval. */
export const codeLifetime = 600
/** Seconds between two polls of a device at least, and by how much this grows when it polls faster (RFC 8628, section 3.5). */
export const pollInterval = 5
/** Milliseconds that a poll may come early: the network delays some polls more than others. */
const tolerance = 500
const purpose = 'device-user-code'

/** What a device asks for, and from where. */
interface DeviceRequest extends Pick<Row<'device_codes'>, 'client_id' | 'scope' | 'resource'> {
  origin: AuditOrigin
}

/** What a poll of a device gives. `unknown`: also for a code of another client, and for a used one. */
export type Poll =
  | { state: 'pending' | 'too-fast' | 'expired' | 'denied' }
  | { state: 'unknown'; userId: string | undefined }
  | { state: 'approved'; family: Family; refreshToken: string }

/** Sign-ins of devices without a browser (RFC 8628): a person approves them on another device. */
export class DeviceCodes {
  readonly #parts: OAuth2Basis

  constructor(parts: OAuth2Basis) {
    this.#parts = parts
  }

  /** Stores a request. Returns the codes for the device and for the person. */
  async start({ origin, ...wanted }: DeviceRequest): Promise<{
    deviceCode: string
    userCode: string
  }> {
    const { database, clock, keyring } = this.#parts
    const now = clock.now()
    const [deviceCode, userCode] = [newToken('dc_'), newUserCode()]
    const [userCodeHash] = keyring.derived(userCode, purpose)
    const nobody = { user_id: null, provider: null, acr: null, amr: null }
    const never = { authenticated_at: null, authentication_proof: null }
    await database.transaction((tx) =>
      tx
        .insertInto('device_codes')
        .values({
          ...wanted,
          ...nobody,
          ...never,
          device_code_hash: hashToken(deviceCode),
          user_code_hash: userCodeHash,
          address: origin.address ?? null,
          user_agent: storableUserAgent(origin.userAgent),
          status: 'pending',
          poll_interval: pollInterval * 1000,
          polled_at: null,
          created_at: now,
          expires_at: now + codeLifetime * 1000,
        })
        .execute(),
    )
    return { deviceCode, userCode }
  }

  /** The request of a code that a person typed; `undefined` when it is unknown or expired. */
  async find(userCode: string): Promise<Row<'device_codes'> | undefined> {
    const { database, clock, keyring } = this.#parts
    return database.reader
      .selectFrom('device_codes')
      .selectAll()
      .where('user_code_hash', 'in', keyring.derived(userCode, purpose))
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
  }

  /** Approves or denies a request for the user of a session. False when it was decided before or has expired. */
  async decide(
    tx: Tx,
    { device_code_hash: hash }: Row<'device_codes'>,
    session: Session,
    status: 'approved' | 'denied',
  ): Promise<boolean> {
    const { userId, provider, acr, amr } = session
    const signIn = {
      authenticated_at: session.authenticatedAt,
      authentication_proof: session.authenticationProof,
    }
    const row = await tx
      .updateTable('device_codes')
      .set({ status, user_id: userId, provider, ...signIn, acr, amr })
      .where('device_code_hash', '=', hash)
      .where('status', '=', 'pending')
      .where('expires_at', '>', this.#parts.clock.now())
      .returning('client_id')
      .executeTakeFirst()
    return row !== undefined
  }

  /**
   * One poll of a device. The first one after the approval gets the tokens.
   * @param accept throws to refuse the tokens; then the code stays approved
   */
  async poll(deviceCode: string, client: Client, accept?: (family: Family) => void): Promise<Poll> {
    const { database, clock } = this.#parts
    const hash = hashToken(deviceCode)
    return database.transaction(async (tx): Promise<Poll> => {
      const row = await tx
        .selectFrom('device_codes')
        .selectAll()
        .where('device_code_hash', '=', hash)
        .executeTakeFirst()
      const userId = row?.user_id ?? undefined
      if (row?.client_id !== client.id || row.status === 'used') return { state: 'unknown', userId }
      if (row.expires_at <= clock.now()) return { state: 'expired' }
      if (row.status === 'denied') return { state: 'denied' }
      if (row.status === 'approved') {
        const granted = await this.#grant(tx, row, client)
        if (granted.state === 'approved') accept?.(granted.family)
        return granted
      }
      return { state: await this.#notePoll(tx, row) }
    })
  }

  async #notePoll(tx: Tx, row: Row<'device_codes'>): Promise<'pending' | 'too-fast'> {
    const now = this.#parts.clock.now()
    const isTooFast = row.polled_at !== null && now - row.polled_at < row.poll_interval - tolerance
    await tx
      .updateTable('device_codes')
      .set({ polled_at: now, poll_interval: row.poll_interval + (isTooFast ? pollInterval * 1000 : 0) })
      .where('device_code_hash', '=', row.device_code_hash)
      .execute()
    return isTooFast ? 'too-fast' : 'pending'
  }

  async #grant(tx: Tx, row: Row<'device_codes'>, client: Client): Promise<Poll> {
    const { refreshTokens, users } = this.#parts
    const { user_id: userId, provider, authenticated_at: at } = row
    const proof = row.authentication_proof ?? 'asserted'
    const used = await tx
      .updateTable('device_codes')
      .set({ status: 'used' })
      .where('device_code_hash', '=', row.device_code_hash)
      .where('status', '=', 'approved')
      .returning('client_id')
      .executeTakeFirst()
    if (!used || userId === null || provider === null || at === null || (await users.isBlocked(tx, userId)))
      return { state: 'unknown', userId: userId ?? undefined }
    const { scope, resource, address, user_agent: userAgent, acr, amr } = row
    const signIn = { userId, provider, scope, resource, address, userAgent }
    const created = await refreshTokens.createFamily(tx, {
      ...signIn,
      familyId: refreshTokens.newFamilyId(),
      clientId: client.id,
      // It does not end with the browser in which the person approved it.
      sessionId: null,
      lifetime: refreshLifetime(client),
      authentication: { at, proof, acr, amr },
    })
    return { state: 'approved', ...created }
  }
}

/** How a user decided about a request, for the same form again. */
export function decisionOf(
  device: Row<'device_codes'> | undefined,
  userId: string,
): 'approved' | 'denied' | undefined {
  if (device?.user_id !== userId) return undefined
  return device.status === 'denied' ? 'denied' : 'approved'
}

/** No vowels, so that no words arise, and none of the letters and digits that look alike (RFC 8628, section 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8
const form = new RegExp(`^[${letters}]{${length}}$`)

/** A code that a person types: 8 of 20 letters, 34 bits. */
export function newUserCode(): string {
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('')
}

/** The letters of a code that a person typed, in any case and with any separators; `undefined` for other texts. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  return form.test(code) ? code : undefined
}

/** As it is shown: `WDJB-MJHT`. */
export function displayUserCode(code: string): string {
  return `${code.slice(0, length / 2)}-${code.slice(length / 2)}`
}
