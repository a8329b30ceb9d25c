import type { FastifyRequest } from 'fastify'
import type { CompiledQuery } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import type { Principal } from '../../http/access/principal.ts'
import { insertOf } from '../../storage/built-once.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { AuditAction } from './audit-actions.ts'
import { storableUserAgent } from '../sessions/device-name.ts'

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
  /** Another subject, as `kind:id`: `session:<id>`, `key:<id>`, `app:<client id>`, `subscriber:<id>`, `delivery:<id>`. */
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

/** Writes the audit log. Rows are inserted, and deleted after the retention; they are never updated. */
export class Audit {
  readonly record: RecordAudit
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #retention: number

  /** @param parts.retention milliseconds until a row is deleted. */
  constructor(parts: { database: Database; clock: Clock; log: Log; retention: number }) {
    this.#database = parts.database
    this.#clock = parts.clock
    this.#log = parts.log
    this.#retention = parts.retention
    this.record = createRecordAudit(parts.clock)
  }

  /** The statement that writes an entry. */
  statement(entry: AuditEntry): CompiledQuery {
    return auditStatement(this.#database.reader, entry, this.#clock.now())
  }

  /**
   * Writes an entry in its own transaction: for failures, whose work was rolled back. The answer to the request does not
   * depend on it, so an error is logged and not thrown.
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
    await this.#deleteUntil(now - anonymousRetention, 'anonymous failures')
  }

  async #deleteUntil(time: number, which: 'all' | 'anonymous failures'): Promise<void> {
    for (let deleted = sweepBatch; deleted === sweepBatch;) {
      const result = await this.#database.transaction(
        (tx) => {
          let old = tx.selectFrom('audit_log').select('id').where('created_at', '<=', time)
          if (which !== 'all') old = old.where('code', 'is not', null).where('user_id', 'is', null)
          const some = old.orderBy('created_at').limit(sweepBatch)
          return tx.deleteFrom('audit_log').where('id', 'in', some).executeTakeFirst()
        },
        { priority: 'work' },
      )
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

function actorOf({ userId, keyId, owner, clientId }: Principal): string | undefined {
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
