import type { FastifyRequest } from 'fastify'
import type { CompiledQuery } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import type { Principal } from '../../http/access/principal.ts'
import { insertOf } from '../../storage/built-once.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { storableText } from '../../storage/sql-text.ts'

/** The actor and the request. */
export interface AuditOrigin {
  /**
   * `user:<id>`, `key:<id>`, `app:<client id>` for an app without a user, `owner:<name>` for the portal, `cli`, `schedule` for
   * periodic work, or `service` for decisions of the service; absent when the actor is unknown.
   */
  actor?: string | undefined
  /** The session of the browser, app or portal that made the call. */
  sessionId?: string | undefined
  address?: string | undefined
  userAgent?: string | undefined
  /** The id of the request, by which its log lines are found. */
  supportId?: string | undefined
}

export interface AuditEntry extends AuditOrigin {
  action: AuditAction
  /** The account that the entry is about. */
  userId?: string | undefined
  provider?: string | undefined
  providerId?: string | undefined
  /** Another subject, as `kind:id`: `session:<id>`, `key:<id>`, `app:<client id>`, `subscriber:<id>`, `delivery:<id>`, `invitation:<id>`. */
  target?: string | undefined
  /** The reason of a failure; absent for successes. */
  code?: string | undefined
  /** Details for people. Never secrets, and never text from a provider or a browser. */
  detail?: Readonly<Record<string, string | number | boolean | null>> | undefined
}

/** Writes an entry in the transaction of the change that it records. */
export type RecordAudit = (tx: Tx, entry: AuditEntry) => Promise<void>

/** Milliseconds that failures without an account stay at most: anybody can cause them. */
const anonymousRetention = 30 * 86_400_000
/** Rows of one DELETE statement at most, so that other writers do not wait long. */
const sweepBatch = 1_000

/** `retention`: milliseconds until a row is deleted. */
type AuditParts = Pick<ModuleParts, 'database' | 'clock' | 'log'> & { retention: number }

/** Writes the audit log. Rows are inserted, and deleted after the retention; they are never updated. */
export class Audit {
  readonly record: RecordAudit
  readonly #parts: AuditParts

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.record = createRecordAudit(parts.clock)
  }

  /** The statement that writes an entry. */
  statement(entry: AuditEntry): CompiledQuery {
    return auditStatement(this.#parts.database.reader, entry, this.#parts.clock.now())
  }

  /**
   * Writes an entry in its own transaction: for failures, whose work was rolled back. The answer to the request does not
   * depend on it, so an error is logged and not thrown.
   */
  async note(entry: AuditEntry): Promise<void> {
    try {
      await this.#parts.database.transaction((tx) => this.record(tx, entry))
    } catch (error) {
      this.#parts.log.error(
        { err: error, action: entry.action, code: entry.code },
        'could not write to the audit log',
      )
    }
  }

  async sweep(now: number): Promise<void> {
    await this.#deleteUntil(now - this.#parts.retention, 'all')
    await this.#deleteUntil(now - anonymousRetention, 'anonymous failures')
  }

  async #deleteUntil(time: number, which: 'all' | 'anonymous failures'): Promise<void> {
    for (let deleted = sweepBatch; deleted === sweepBatch;) {
      const result = await this.#parts.database.inBackground((tx) => {
        let old = tx.selectFrom('audit_log').select('id').where('created_at', '<=', time)
        if (which !== 'all') old = old.where('code', 'is not', null).where('user_id', 'is', null)
        const some = old.orderBy('created_at').limit(sweepBatch)
        return tx.deleteFrom('audit_log').where('id', 'in', some).executeTakeFirst()
      })
      deleted = Number(result.numDeletedRows)
    }
  }
}

/** For commands, which run without the service. */
export function createRecordAudit(clock: Clock): RecordAudit {
  return async (tx, entry) => {
    await tx.executeQuery(auditStatement(tx, entry, clock.now()))
  }
}

/** The origin of decisions of the service that neither a call nor a schedule caused. */
export const byService: AuditOrigin = { actor: 'service' }

function auditStatement(db: Queryable, entry: AuditEntry, now: number): CompiledQuery {
  return insertOf(db, 'audit_log', {
    id: newId(now),
    created_at: now,
    action: entry.action,
    user_id: entry.userId ?? null,
    actor: entry.actor ?? null,
    provider: entry.provider ?? null,
    provider_id: entry.providerId ?? null,
    target: entry.target ?? null,
    code: entry.code ?? null,
    support_id: entry.supportId ?? null,
    address: entry.address ?? null,
    session_id: entry.sessionId ?? null,
    user_agent: storableUserAgent(entry.userAgent),
    detail: entry.detail === undefined ? null : JSON.stringify(entry.detail),
  })
}

/** The `User-Agent` of a request as it is stored: 512 characters at most. */
export function storableUserAgent(userAgent: string | undefined): string | null {
  return userAgent === undefined ? null : storableText(userAgent, 512)
}

/** The origin of a request. */
export function auditOrigin(request: FastifyRequest): AuditOrigin {
  return auditOriginOf(request, request.principal)
}

/** The same for a call that is refused before its principal is assigned to the request. */
export function auditOriginOf(request: FastifyRequest, principal: Principal | undefined): AuditOrigin {
  return {
    actor: principal && actorOf(principal),
    sessionId: principal?.sessionId,
    address: clientIp(request),
    userAgent: request.headers['user-agent'],
    supportId: request.id,
  }
}

/** While an admin acts for a user, the admin is the actor, and the entry's `userId` is the user. */
function actorOf({ userId, keyId, owner, clientId, impersonator }: Principal): string | undefined {
  if (impersonator) return `user:${impersonator.userId}`
  if (userId !== undefined) return `user:${userId}`
  if (keyId !== undefined) return `key:${keyId}`
  if (clientId !== undefined) return `app:${clientId}`
  return owner === undefined ? undefined : `owner:${owner}`
}

/** Reads and changes rows. Each change writes an entry of the audit log in its transaction. */
export abstract class AuditedStore {
  protected readonly database: Database
  protected readonly clock: Clock
  protected readonly record: RecordAudit

  constructor(database: Database, clock: Clock, record: RecordAudit) {
    this.database = database
    this.clock = clock
    this.record = record
  }
}

/** The actions in the audit log. The names are stable, because people filter and alert by them. */
export const auditActions = {
  'user.created': 'An account was created at the first sign-in of an identity.',
  'user.signed_in': 'A sign-in succeeded.',
  'user.signed_out': 'A session or an app was signed out by its user.',
  'app.removed': 'A user removed an app: the consent and the tokens of the app were revoked.',
  'device.approved':
    'A user allowed a device to sign in (device grant); the detail has the address of the device.',
  'device.denied': 'A user did not allow a device to sign in.',
  'device.refused': 'A device code was rejected: it is wrong, used or expired.',
  'app.logout_failed':
    'An app did not accept the notice that a sign-in ended (back-channel logout); the code says why.',
  'sign_out.refused': "An app's sign-out request was rejected; the code says why.",
  'user.blocked': 'An account was blocked.',
  'user.unblocked': 'An account was unblocked.',
  'user.role_changed': 'The role of an account changed.',
  'user.groups_changed': "An admin changed an account's own groups, which are not from a provider.",
  'user.change_failed': 'The role admin or groups could not be given; the code says why.',
  'user.deleted': 'An account was deleted with its identities, sessions, consents and tokens.',
  'user.exported': 'The command line exported the data of an account.',
  'user.profile_changed':
    'A sign-in changed the e-mail address or name of an account; the detail names the fields without their values.',
  'impersonation.started': 'An admin began to act for a user; the detail has the reason.',
  'impersonation.refused': 'An admin could not act for a user; the code says why.',
  'impersonation.ended':
    'An admin stopped acting for a user, or a session ended that it needs. Without this entry, it ended at its time limit.',
  'sign_in.failed': 'A sign-in failed; the code says why.',
  'provider.checked': 'An identity provider was checked; the detail says what was found.',
  'identity.linked': 'An identity was linked to an account.',
  'identity.unlinked': 'An identity was unlinked from an account.',
  'identity.link_failed': 'An identity could not be linked; the code says why.',
  'identity.unlink_failed': 'An identity could not be unlinked; the code says why.',
  'identity.issuer_moved':
    'The identities of a provider were bound to another issuer, because the provider moved.',
  'session.revoked': 'A session was revoked by another session, an admin or the service.',
  'app.authorized': 'An app got a code for a person who was signed in.',
  'app.refused': "An app's authorization request was rejected; the code says why.",
  'tokens.revoked': "An app's tokens were revoked, by a person or because a used token was used again.",
  'tokens.refused':
    "An app's code or refresh token was rejected: it is unknown, used, expired or belongs to another app.",
  'tokens.reused':
    'A refresh token was used again within the grace period, from another address, and accepted.',
  'call.refused': 'A page of another site tried to write with the cookie of a session.',
  'call.forbidden': 'An authenticated caller asked for something that their role does not allow.',
  'forward_auth.signed_in': 'A session was taken over to the host of an application.',
  'forward_auth.forbidden':
    'A signed-in user asked for a path of an application that the rules do not let them use.',
  'forward_auth.refused':
    "A sign-in at an application's host, a cookie of another host, or a request from an untrusted proxy was rejected; the code says why.",
  'key.created': 'An API key was created.',
  'key.create_failed': 'An API key could not be created; the code says why.',
  'key.revoked': 'An API key was revoked.',
  'key.refused': 'A request had an API key that is unknown, expired or revoked.',
  'invitation.created': 'A person was invited; the detail has the address, the role and the groups.',
  'invitation.create_failed': 'An invitation could not be created; the code says why.',
  'invitation.revoked': 'An invitation was revoked.',
  'invitation.used': 'A new user used an invitation.',
  'alert.created': 'A destination of alerts was added.',
  'alert.changed': 'A destination of alerts was changed; the detail names the settings without their values.',
  'alert.deleted': 'A destination of alerts was deleted.',
  'alert.tested': 'A test was sent to a destination of alerts.',
  'client.created': 'An app was created.',
  'client.create_failed': 'An app, or a secret or public key of one, could not be stored; the code says why.',
  'client.registered': 'An app registered itself (RFC 7591).',
  'client.changed': 'Settings of an app were changed; the detail names them without their values.',
  'client.deleted': 'An app was deleted; its tokens are rejected.',
  'client.secret_created': 'An app got a new secret.',
  'client.secret_removed': 'A secret of an app was removed.',
  'client.refused': 'An app could not authenticate; the code says why.',
  'subscriber.created': 'A subscriber was registered.',
  'subscriber.changed': 'Settings of a subscriber were changed; the detail names them without their values.',
  'subscriber.paused': 'A subscriber was paused.',
  'subscriber.resumed': 'A paused or disabled subscriber was activated.',
  'subscriber.disabled': 'A subscriber was disabled, by a call or by the service because it did not answer.',
  'subscriber.secret_rotated': 'A subscriber got a new signing secret.',
  'subscriber.secret_read': "A subscriber's signing secret was read.",
  'subscriber.deleted': 'A subscriber was deleted with its delivery log.',
  'subscriber.tested': 'A test event was sent to a subscriber.',
  'delivery.replayed': 'One delivery was sent again.',
  'replay.started': 'A job was started that sends many deliveries of a subscriber again.',
  'event.reprocessed': 'The handlers of one received event were run again.',
  'handler.paused': 'A handler was paused: its events wait.',
  'handler.resumed': 'A handler was resumed.',
  'event.canceled': 'A scheduled event was canceled.',
  'event_type.created': 'An event type was created through the API.',
  'event_type.changed':
    'An event type was changed through the API; the detail names the fields without their values.',
  'event_type.deleted': 'An event type that was created through the API was deleted.',
  'event.payload_removed':
    'The payload of an emitted event, or the response body of one attempt, was removed.',
  'event.dry_run': 'The handlers of one received event were run in a transaction that was rolled back.',
  'source.sampled': 'A signed sample was sent to a source.',
  'reprocess.started': 'A job was started that runs the handlers of many received events again.',
  'job.cancelled': 'A job that replays deliveries or reprocesses events was cancelled.',
  'owner.created': 'A customer was created: by a request or an import, or with its first endpoint.',
  'owner.changed': "A customer's data was changed; the detail names the fields without their values.",
  'owner.deleted': 'A customer was deleted, with its subscribers and its portal access.',
  'owner.named': "A customer's display name was set or removed.",
  'portal.link_created': 'A link to the portal of an owner was created.',
  'portal.opened': 'A link to the portal was opened.',
  'portal.link_refused': 'A portal link was rejected: it is unknown, used or expired.',
  'portal.left': 'An owner signed out of the portal.',
  'portal.revoked': 'All links and sessions of an owner were revoked.',
  'portal.brand_changed':
    "The brand of an owner's portal was changed; the detail names the fields without their values.",
  'secrets.resealed':
    'The command line sealed secrets with the newest POSTERN_SECRET; the detail has their number.',
  'signing_key.rotated':
    'A new signing key for access tokens was created; the detail says when it takes over.',
  'item.created': 'A product or a post was created.',
  'item.changed': 'A product or a post was changed; the detail names the fields without their values.',
  'item.deleted': 'A product or a post was deleted.',
  'import.started': 'The command line started to import a file.',
  'import.finished': 'An import of the command line ended; the detail has the numbers of rows.',
  'list.counts_changed': 'The command line created, rebuilt or dropped the maintained counts of a list.',
  'signing_key.withdrawn': 'A signing key was withdrawn: access tokens that it signed are rejected.',
} as const

export type AuditAction = keyof typeof auditActions

export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text)
}
