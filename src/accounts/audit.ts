import type { FastifyRequest } from 'fastify'
import type { Insertable } from 'kysely'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { clientIp } from '../http/client-address.ts'
import type { Principal } from '../http/principal.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { AuditLogTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { AuditAction } from './audit-actions.ts'

/** Who did it and from where. */
export interface AuditOrigin {
  /**
   * `user:<id>`, `key:<id>`, `owner:<name>` for the portal, `cli`, `schedule` for what is due, or `service` for what the
   * service does by itself; absent when nobody is known.
   */
  actor?: string | undefined
  /** The session of a browser, an app or the portal that the call was made with. */
  sessionId?: string | undefined
  address?: string | undefined
  userAgent?: string | undefined
  /** The request's id: the number for support, which finds the line in the log. */
  supportId?: string | undefined
}

export interface AuditEntry extends AuditOrigin {
  action: AuditAction
  /** Whose account it is about. */
  userId?: string | undefined
  provider?: string | undefined
  providerId?: string | undefined
  /** What else it is about, as `kind:id`: `session:<id>`, `key:<id>`, `app:<client id>`, `subscriber:<id>`, `delivery:<id>`. */
  target?: string | undefined
  /** Why it failed; only failures have one. */
  code?: string | undefined
  /** A little more, for people: no secret, and nothing that a provider or a browser wrote. */
  detail?: Readonly<Record<string, string | number | boolean | null>> | undefined
}

/** Writes an entry within the transaction of what it tells of. */
export type RecordAudit = (tx: Tx, entry: AuditEntry) => Promise<void>

/** Milliseconds that failures without an account behind them are kept at most: anybody can cause them. */
const failuresKept = 30 * 86_400_000
const longestUserAgent = 512
/** Rows that one statement of the sweep deletes, so that no writer waits long for it. */
const sweptAtOnce = 1_000

/** The audit log: rows are added and, when they are old enough, deleted; nothing changes one. */
export class Audit {
  readonly record: RecordAudit
  readonly #database: Database
  readonly #log: Log
  readonly #retention: number

  /** @param parts.retention milliseconds that rows are kept. */
  constructor(parts: { database: Database; clock: Clock; log: Log; retention: number }) {
    this.#database = parts.database
    this.#log = parts.log
    this.#retention = parts.retention
    this.record = createRecordAudit(parts.clock)
  }

  /**
   * Writes an entry that belongs to no transaction: a failure, whose own work was rolled back. The request is answered
   * as it would be in any case, so what goes wrong here is logged and not thrown.
   */
  async note(entry: AuditEntry): Promise<void> {
    try {
      await this.#database.transaction((tx) => this.record(tx, entry))
    } catch (error) {
      this.#log.error(
        { err: error, action: entry.action, code: entry.code },
        'could not write to the audit log',
      )
    }
  }

  async sweep(now: number): Promise<void> {
    await this.#deleteUntil(now - this.#retention, 'all')
    await this.#deleteUntil(now - failuresKept, 'anonymous failures')
  }

  async #deleteUntil(time: number, which: 'all' | 'anonymous failures'): Promise<void> {
    for (let deleted = sweptAtOnce; deleted === sweptAtOnce;) {
      const result = await this.#database.transaction(
        (tx) => {
          let old = tx.selectFrom('audit_log').select('id').where('created_at', '<=', time)
          if (which !== 'all') old = old.where('code', 'is not', null).where('user_id', 'is', null)
          const some = old.orderBy('created_at').limit(sweptAtOnce)
          return tx.deleteFrom('audit_log').where('id', 'in', some).executeTakeFirst()
        },
        { priority: 'work' },
      )
      deleted = Number(result.numDeletedRows)
    }
  }
}

/** Commands have no service, but they write entries too. */
export function createRecordAudit(clock: Clock): RecordAudit {
  return async (tx, entry) => {
    await tx.insertInto('audit_log').values(auditRow(entry, clock.now())).execute()
  }
}

/** What the service does by itself, without a call and without a schedule. */
export const byService: AuditOrigin = { actor: 'service' }

function auditRow(entry: AuditEntry, now: number): Insertable<AuditLogTable> {
  return {
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
    user_agent: entry.userAgent?.slice(0, longestUserAgent).toWellFormed() ?? null,
    detail: entry.detail === undefined ? null : JSON.stringify(entry.detail),
  }
}

/** Who makes a request, and from where. */
export function auditOrigin(request: FastifyRequest): AuditOrigin {
  return auditOriginOf(request, request.principal)
}

/** The same for a call that is refused before its principal is known to the route. */
export function auditOriginOf(request: FastifyRequest, principal: Principal | undefined): AuditOrigin {
  return {
    actor: principal && actorOf(principal),
    sessionId: principal?.sessionId,
    address: clientIp(request),
    userAgent: request.headers['user-agent'],
    supportId: request.id,
  }
}

function actorOf({ userId, keyId, owner }: Principal): string | undefined {
  if (userId !== undefined) return `user:${userId}`
  if (keyId !== undefined) return `key:${keyId}`
  return owner === undefined ? undefined : `owner:${owner}`
}
