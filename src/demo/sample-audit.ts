import type { Insertable } from 'kysely'
import type { AuditAction } from '../accounts/audit/audit-actions.ts'
import { idOf } from '../crypto/ids.ts'
import type { AuditLogTable } from '../storage/tables.ts'
import { demoProviderName as provider } from './identity-provider.ts'
import { type SampleAccount, sampleAccounts, type SampleDevice } from './sample-accounts.ts'

const hour = 3_600_000
const day = 24 * hour

export type SampleAuditRow = Insertable<AuditLogTable>

/** A sample person, with the id of the user. */
export interface SampleUser {
  /** Milliseconds since 1970. */
  now: number
  userId: string
  account: SampleAccount
}

/** When the account was made. */
export const startOf = ({ now, account }: Pick<SampleUser, 'now' | 'account'>): number =>
  now - account.joined * day

/** The times of the sign-ins with one device. @param seed makes them differ from those of others */
export function signInsWith(user: SampleUser, { every, seen }: SampleDevice, seed: number): number[] {
  const times: number[] = []
  const until = user.now - seen * hour
  for (
    let at = startOf(user) + (seed % 10) * every * hour;
    at < until;
    at += Math.round(every * hour * (0.6 + 0.8 * noise(seed * 97 + times.length)))
  )
    times.push(at)
  return times
}

/** The entries of sign-ins with one device, and of its end. */
export function useEntries(
  user: SampleUser,
  device: SampleDevice,
  times: readonly number[],
): SampleAuditRow[] {
  const entries = times.map((at) => entryAt(at, 'user.signed_in', user, device))
  if (device.signedOut) {
    const ended = entryAt(user.now - device.seen * hour, 'session.revoked', user, device)
    entries.push({ ...ended, detail: JSON.stringify({ allOthers: true, count: 1 }) })
  }
  return entries
}

/** What happened to an account, and what the administrator decided about it. */
export function accountEntries(user: SampleUser, admin: string): SampleAuditRow[] {
  const { now, account } = user
  const { role, second, blocked } = account
  const device = account.devices[0]!
  const rows = [entryAt(startOf(user), 'user.created', user, device)]
  const byAdmin = (at: number, action: AuditAction): SampleAuditRow => ({
    ...adminEntry(at, action, admin),
    user_id: user.userId,
  })
  if (role === 'admin') {
    const detail = JSON.stringify({ from: 'user', to: 'admin' })
    rows.push({ ...byAdmin(now - 12 * day, 'user.role_changed'), detail })
  }
  if (second) {
    const linked = entryAt(now - second.linked * day, 'identity.linked', user, device)
    rows.push({ ...linked, provider_id: second.person.id })
  }
  if (blocked !== undefined) {
    const at = now - blocked * day
    rows.push(byAdmin(at, 'user.blocked'))
    for (const later of [0.1, 5, 26]) {
      const refused = entryAt(at + later * hour, 'sign_in.failed', user, device)
      rows.push({ ...refused, actor: null, code: 'account-blocked' })
    }
  }
  return rows
}

/** What the administrator did, with the first device of the first account. @param admin the actor */
export function adminEntry(at: number, action: AuditAction, admin: string): SampleAuditRow {
  const { address, userAgent } = sampleAccounts[0]!.devices[0]!
  return { ...emptyEntry(at, action), actor: admin, address, user_agent: userAgent }
}

/** Sign-ins that nobody completed. */
export function strangersEntries(now: number): SampleAuditRow[] {
  const codes = ['access-denied', 'sign-in-expired', 'access-denied'] as const
  return Array.from({ length: 16 }, (_, index) => {
    const at = now - Math.round((0.3 + index * 1.7 + noise(index)) * day)
    return {
      ...emptyEntry(at, 'sign_in.failed'),
      provider,
      code: codes[index % codes.length]!,
      address: `198.51.100.${20 + index * 7}`,
      user_agent: sampleAccounts[index % sampleAccounts.length]!.devices[0]!.userAgent,
    }
  })
}

function entryAt(
  at: number,
  action: AuditAction,
  { userId, account: { person } }: SampleUser,
  { address, userAgent }: SampleDevice,
): SampleAuditRow {
  return {
    ...emptyEntry(at, action),
    user_id: userId,
    actor: `user:${userId}`,
    provider,
    provider_id: person.id,
    address,
    user_agent: userAgent,
  }
}

function emptyEntry(at: number, action: AuditAction): SampleAuditRow {
  const created_at = Math.round(at)
  return {
    id: idOf(created_at),
    created_at,
    action,
    user_id: null,
    actor: null,
    session_id: null,
    provider: null,
    provider_id: null,
    target: null,
    code: null,
    support_id: null,
    address: null,
    user_agent: null,
    detail: null,
  }
}

/** A number in [0, 1) that looks random and is the same at each start. */
function noise(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453
  return value - Math.floor(value)
}
