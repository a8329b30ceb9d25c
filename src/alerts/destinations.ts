import type { AuditAction, AuditEntry, AuditOrigin, RecordAudit } from '../accounts/audit/audit.ts'
import { newId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { Egress } from '../network/egress.ts'
import { type Cursors, idScope } from '../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../paging/parameters.ts'
import type { AttentionKind } from '../http/attention.ts'
import type { Row } from '../storage/tables.ts'
import {
  openTarget,
  readTarget,
  sealTarget,
  type Target,
  type Line,
  type MessageKind,
  subjectOf,
} from './deliver.ts'
import type { ModuleParts } from '../http/service-module.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import { storableText } from '../storage/sql-text.ts'

/** Destinations at most: each round compares all of them. */
const mostDestinations = 50

/** The settings of a destination, as a request has them. */
interface Settings {
  name: string
  /** Null: all kinds. */
  conditions: AttentionKind[] | null
  severity: Row<'alert_destinations'>['severity']
  /** Null: a condition is not repeated. */
  repeatSeconds: number | null
  enabled: boolean
  url: string
  to: string[]
}

const defaults = { conditions: null, severity: 'warning', repeatSeconds: 86_400, enabled: true } as const

/** The columns of the settings that are given; others are undefined. */
function columnsOf({ name, conditions, severity, repeatSeconds, enabled }: Partial<Settings>) {
  return {
    name: name?.trim(),
    conditions: conditions && JSON.stringify(conditions),
    severity,
    repeat_ms: repeatSeconds && repeatSeconds * 1000,
    enabled: enabled === undefined ? undefined : Number(enabled),
  }
}

/** A destination with its address. */
export interface Destination {
  row: Row<'alert_destinations'>
  target: Target
  lastSending: Row<'alert_sendings'> | undefined
}

interface DestinationsParts extends Pick<ModuleParts, 'database' | 'keyring' | 'clock'> {
  record: RecordAudit
  cursors: Cursors
  egress: Egress
  hasMail: boolean
}

const listScope = idScope('alerts', null)

/** Where alerts go. Every change leaves an entry in the audit log, without addresses. */
export class Destinations {
  readonly #parts: DestinationsParts

  constructor(parts: DestinationsParts) {
    this.#parts = parts
  }

  /** A page of destinations, newest first. @throws Problem `invalid-cursor` */
  async page(request: PageRequest): Promise<PageOfRows<Destination>> {
    const { database, cursors } = this.#parts
    const all = database.reader.selectFrom('alert_destinations').selectAll()
    const { rows, nextCursor } = await cursors.newest(listScope, request, all)
    return { rows: await Promise.all(rows.map((row) => this.#withTarget(row))), nextCursor }
  }

  /** @throws Problem `not-found` */
  async get(id: string): Promise<Destination> {
    const row = await this.#parts.database.reader
      .selectFrom('alert_destinations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    if (!row) throw noSuchDestination()
    return this.#withTarget(row)
  }

  /** @throws Problem `invalid-body`; `unprocessable` without the settings of e-mail; `conflict` if there are too many */
  async create(
    kind: Row<'alert_destinations'>['kind'],
    given: Partial<Settings>,
    origin: AuditOrigin,
  ): Promise<Destination> {
    const { database, keyring, clock } = this.#parts
    const now = clock.now()
    const target = readTarget(kind, given, this.#parts)
    const id = newId(now)
    const row = {
      id,
      kind,
      ...columnsOf({ ...defaults, ...given }),
      target: sealTarget(keyring, id, target),
      created_at: now,
      updated_at: now,
    } as Row<'alert_destinations'>
    await database.transaction(async (tx) => {
      const { count } = await tx
        .selectFrom('alert_destinations')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (count >= mostDestinations)
        throw new Problem('conflict', { detail: `There are ${mostDestinations} destinations already.` })
      await tx.insertInto('alert_destinations').values(row).execute()
      await this.#record(tx, 'alert.created', row, origin)
    })
    return { row, target, lastSending: undefined }
  }

  /** Changes what is given. @throws Problem `not-found`, and as `create` */
  async change(id: string, given: Partial<Settings>, origin: AuditOrigin): Promise<Destination> {
    const { database, keyring, clock } = this.#parts
    const { row: before } = await this.get(id)
    const hasAddress = given.url !== undefined || given.to !== undefined
    const set = {
      ...columnsOf(given),
      target: hasAddress ? sealTarget(keyring, id, readTarget(before.kind, given, this.#parts)) : undefined,
    }
    const changed = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : name))
    const row = await database.transaction(async (tx) => {
      const after = await tx
        .updateTable('alert_destinations')
        .set({ ...set, updated_at: clock.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (!after) throw noSuchDestination()
      await this.#record(tx, 'alert.changed', after, origin, { changed: changed.join(',') })
      return after
    })
    return this.#withTarget(row)
  }

  /** Deletes a destination with its messages. @throws Problem `not-found` */
  async remove(id: string, origin: AuditOrigin): Promise<void> {
    await this.#parts.database.transaction(async (tx) => {
      const row = await tx
        .deleteFrom('alert_destinations')
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (!row) throw noSuchDestination()
      await this.#record(tx, 'alert.deleted', row, origin)
    })
  }

  /** Writes a test message, which the caller sends. @throws Problem `not-found` */
  async beginTest(id: string, origin: AuditOrigin): Promise<Row<'alert_sendings'>> {
    const { database, clock } = this.#parts
    const { row } = await this.get(id)
    const now = clock.now()
    const line = { text: `Test alert for ${row.name}`, since: null, path: '/dashboard/alerts' }
    // Not due for the workers: the call sends it.
    const sending = { ...newSending(id, 'test', [line], now), attempts: 1, due_at: now + 60_000 }
    await database.transaction(async (tx) => {
      await tx.insertInto('alert_sendings').values(sending).execute()
      await this.#record(tx, 'alert.tested', row, origin)
    })
    return sending
  }

  /** A page of the messages of a destination, newest first. @throws Problem `not-found`, `invalid-cursor` */
  async sendings(id: string, request: PageRequest): Promise<PageOfRows<Row<'alert_sendings'>>> {
    const { database, cursors } = this.#parts
    await this.get(id)
    const all = database.reader.selectFrom('alert_sendings').selectAll().where('destination_id', '=', id)
    return cursors.newest(idScope('alert-sendings', id), request, all)
  }

  #record(
    tx: Tx,
    action: AuditAction,
    { id, kind, name }: Row<'alert_destinations'>,
    origin: AuditOrigin,
    more: AuditEntry['detail'] = {},
  ): Promise<void> {
    const detail = { kind, name, ...more }
    return this.#parts.record(tx, { action, target: `alert:${id}`, detail, ...origin })
  }

  async #withTarget(row: Row<'alert_destinations'>): Promise<Destination> {
    const { database, keyring } = this.#parts
    const lastSending = await database.reader
      .selectFrom('alert_sendings')
      .selectAll()
      .where('destination_id', '=', row.id)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return { row, target: openTarget(keyring, row), lastSending }
  }
}

export function noSuchDestination(): Problem {
  return new Problem('not-found', { detail: 'There is no such destination of alerts.' })
}

/** Milliseconds that one attempt may take before another process repeats it. */
const claimTime = 60_000

/** Milliseconds before each further attempt. */
const delays = [30_000, 120_000, 600_000, 3_600_000] as const

export const mostAttempts = delays.length + 1

const longestError = 300

/** One message for all lines. */
export function newSending(
  destination: string,
  what: MessageKind,
  lines: readonly Line[],
  now: number,
): Row<'alert_sendings'> {
  return {
    id: newId(now),
    destination_id: destination,
    what,
    subject: subjectOf(what, lines),
    lines: JSON.stringify(lines),
    status: 'pending',
    attempts: 0,
    due_at: now,
    error: null,
    created_at: now,
    finished_at: null,
  }
}

/** Takes due messages for this process, at most `most`: each counts as attempted, and is due again if the process ends. */
export async function claimSendings(
  database: Database,
  now: number,
  most: number,
): Promise<Row<'alert_sendings'>[]> {
  const dueIn = (db: Queryable, count: number) =>
    db
      .selectFrom('alert_sendings')
      .select('id')
      .where('status', '=', 'pending')
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(count)
  // Usually nothing is due, so the first read needs no transaction.
  if ((await dueIn(database.reader, 1).execute()).length === 0) return []
  return database.inBackground(async (tx) => {
    const due = dueIn(tx, most)
    const locked = await (database.engine === 'postgres' ? due.forUpdate().skipLocked() : due).execute()
    if (locked.length === 0) return []
    return tx
      .updateTable('alert_sendings')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), due_at: now + claimTime }))
      .where(
        'id',
        'in',
        locked.map(({ id }) => id),
      )
      .returningAll()
      .execute()
  })
}

/** Records the result of an attempt. @param error undefined after a success; `final` if no other attempt follows */
export async function finishSending(
  tx: Tx,
  { id, attempts }: Pick<Row<'alert_sendings'>, 'id' | 'attempts'>,
  { error, final }: { error?: string; final?: boolean },
  now: number,
): Promise<Row<'alert_sendings'> | undefined> {
  const delay = final === true ? undefined : delays[attempts - 1]
  const status = error === undefined ? 'sent' : delay === undefined ? 'failed' : 'pending'
  return tx
    .updateTable('alert_sendings')
    .set({
      status,
      error: error === undefined ? null : storableText(error, longestError),
      due_at: now + (delay ?? 0),
      finished_at: status === 'pending' ? null : now,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Milliseconds after which a message is deleted. */
const retention = 30 * 86_400_000

/** Old messages that one round deletes. */
const perSweep = 500

/** Deletes old messages, a part of them in each call. */
export async function sweepSendings(tx: Tx, now: number): Promise<void> {
  const old = tx
    .selectFrom('alert_sendings')
    .select('id')
    .where('created_at', '<', now - retention)
    .where('status', '!=', 'pending')
    .orderBy('created_at')
    .limit(perSweep)
  await tx.deleteFrom('alert_sendings').where('id', 'in', old).execute()
}
