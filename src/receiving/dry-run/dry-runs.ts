import { randomUUID } from 'node:crypto'
import { auditOrigin, type AuditOrigin, type RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { parseExactly, stringifyExactly } from '../../json/exact.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { EmittedEvent, HandlerLog } from '../config.ts'
import { findReceived } from '../failed/store.ts'
import { storedError } from '../worker/failures.ts'
import { urlOf, withoutCredentials } from '../forward.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import type { Scheme } from '../schemes/scheme.ts'
import { Stopping, WaitedForTransaction } from '../worker/interruptions.ts'
import type { PlanOf } from '../handlers/plan.ts'
import { type ClaimedEvent, readClaimed } from '../queue/store.ts'
import { dryRunLimit, rehearse, type RehearseParts } from './rehearse.ts'
import { WrittenTable } from './writes.ts'
import { inspect } from 'node:util'
import type { LogOfHandlers } from '../worker/attempt.ts'
import { type Static, Type } from 'typebox'
import { readEventNumber } from '../../events/present.ts'
import { requireScope } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { EmptyBody, IdParams, nullable } from '../../http/schemas/schemas.ts'
import type { ModuleParts } from '../../http/service-module.ts'

interface DryRunParts extends Omit<RehearseParts, 'log'>, Pick<ModuleParts, 'database' | 'log'> {
  planOf: PlanOf
  record: RecordAudit
  sources: ReadonlyMap<string, Scheme>
}

interface DryRunOptions {
  /** Whether a processed event may be run. */
  processed: boolean
  origin: AuditOrigin
}

/** The most concurrent dry runs of a process: each holds a connection, or on SQLite the write lock, while its handler uses `tx`. */
const mostAtOnce = 4
const mostEmitted = 100
/** Milliseconds by which the lease exceeds the handlers' time limit, for emitting and rolling back. */
const leaseMargin = 10_000

/** Processes events in transactions that are rolled back. */
export class DryRuns {
  readonly #parts: DryRunParts
  #running = 0
  /** The actors that have a dry run now. */
  readonly #actors = new Set<string>()

  constructor(parts: DryRunParts) {
    this.#parts = parts
  }

  /**
   * Runs the handlers of an event. A claim on an event that is not processed prevents other runs meanwhile.
   * @throws Problem `not-found`; `conflict` if the event was emitted, is processed and may not be, or is being handled now, and if
   * the actor has another dry run; `no-longer-kept`; `overloaded`; `stopping`. StorageUnavailable.
   */
  async one(event: number, options: DryRunOptions): Promise<DryRunResult> {
    const actor = options.origin.actor ?? ''
    if (this.#running >= mostAtOnce)
      throw new Problem('overloaded', { retryAfter: 1, detail: 'Too many dry runs are running.' })
    if (this.#actors.has(actor))
      throw new Problem('conflict', { detail: 'Another dry run of yours is running.' })
    this.#running += 1
    this.#actors.add(actor)
    try {
      return await this.#run(event, options)
    } finally {
      this.#running -= 1
      this.#actors.delete(actor)
    }
  }

  async #run(event: number, options: DryRunOptions): Promise<DryRunResult> {
    const found = await this.#find(event, options)
    const { claimed, plan, forwardTo } = found
    const handlers = plan.handlers.map(({ id }) => id)
    if (forwardTo !== undefined)
      return result({ outcome: 'forwarded', handlers, forwardTo: withoutCredentials(forwardTo) })
    const { log, lines } = recordLines(this.#parts.log)
    const startedAt = performance.now()
    try {
      const rehearsed = await rehearse(claimed, plan, { ...this.#parts, log })
      throwIfNotItsOwn(rehearsed.error)
      const { error, emitted, writes } = rehearsed
      return result({
        outcome: 'error' in rehearsed ? 'failed' : 'processed',
        handlers,
        error: 'error' in rehearsed ? storedError(error) : null,
        tables: writes.tables,
        notes: writes.notes,
        emitted: emitted.slice(0, mostEmitted).map(withExactData),
        emittedTotal: emitted.length,
        log: lines,
        durationMs: Math.round(performance.now() - startedAt),
      })
    } finally {
      if (found.isHeld) await this.#release(claimed)
    }
  }

  /** `isHeld`: whether this run holds a claim on the event. */
  async #find(event: number, { processed, origin }: DryRunOptions) {
    const { database, clock, planOf, sources, record } = this.#parts
    // Workers' claims have another prefix. If this process dies, the lease ends the claim.
    const claim = `dry-run:${randomUUID()}`
    return database.transaction(async (tx) => {
      const now = clock.now()
      const found = await findReceived(database.engine, tx, event, { processed })
      const claimed = await readClaimed(tx, event, claim)
      const plan = planOf(claimed.source, claimed.type)
      await record(tx, { action: 'event.dry_run', target: `event:${event}`, ...origin })
      const forwardTo = sources.get(claimed.source)?.forwardTo
      if (forwardTo !== undefined) return { claimed, plan, isHeld: false, forwardTo: urlOf(forwardTo) }
      if (found.status === 'processed') return { claimed, plan, isHeld: false }
      if (found.claim !== null && (found.leasedUntil ?? 0) > now)
        throw new Problem('conflict', { detail: 'The event is being handled now.' })
      await tx
        .updateTable('event_queue')
        .set({ claim, leased_until: now + plan.timeout + leaseMargin })
        .where('event', '=', event)
        .execute()
      return { claimed, plan, isHeld: true }
    })
  }

  async #release({ event, claim }: ClaimedEvent): Promise<void> {
    const { database, log } = this.#parts
    try {
      await database.transaction((tx) =>
        tx
          .updateTable('event_queue')
          .set({ claim: null, leased_until: null })
          .where('event', '=', event)
          .where('claim', '=', claim)
          .execute(),
      )
      // The event may have become due meanwhile.
      database.signal('event_queue')
    } catch (error) {
      // The lease expires.
      log.warn({ err: error, event }, 'the claim of a dry run could not be released')
    }
  }
}

function result(told: Pick<DryRunResult, 'outcome' | 'handlers'> & Partial<DryRunResult>): DryRunResult {
  return {
    error: null,
    tables: [],
    emitted: [],
    emittedTotal: 0,
    log: [],
    notes: [],
    forwardTo: null,
    durationMs: 0,
    ...told,
  }
}

/** The data as subscribers would get it, with every digit. */
function withExactData(event: EmittedEvent): EmittedEvent {
  return { ...event, data: parseExactly(stringifyExactly(event.data) ?? 'null') }
}

/** @throws errors that are not the handler's fault */
function throwIfNotItsOwn(error: unknown): void {
  if (error instanceof StorageUnavailable) throw error
  if (error instanceof Stopping) throw new Problem('stopping', { retryAfter: 1 })
  if (error instanceof WaitedForTransaction)
    throw new Problem('overloaded', { retryAfter: 1, detail: error.message })
}

type LogLine = Static<typeof Line>

/** Lines that are recorded, and characters of a message and of the fields. */
const mostLines = 200
const longest = 2_000

const levels = ['debug', 'info', 'warn', 'error'] as const

/** Records the log lines of a run, of all levels, and passes them on to the log. */
function recordLines(log: LogOfHandlers): { log: LogOfHandlers; lines: LogLine[] } {
  const lines: LogLine[] = []
  const child = (bindings: object): HandlerLog => {
    const real = log.child(bindings)
    const write = (level: LogLine['level']) => (first: object | string, message?: string) => {
      if (lines.length < mostLines) lines.push(lineOf(level, first, message))
      real[level](first, message)
    }
    return Object.fromEntries(levels.map((level) => [level, write(level)])) as HandlerLog
  }
  return { log: { child }, lines }
}

function lineOf(level: LogLine['level'], first: object | string, message: string | undefined): LogLine {
  if (typeof first === 'string') return { level, message: cut(first), fields: null }
  return {
    level,
    message: cut(message ?? ''),
    fields: cut(inspect(first, { depth: 3, breakLength: 100, maxStringLength: longest })),
  }
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`
}

const Line = Type.Object({
  level: Type.Enum(levels),
  message: Type.String(),
  fields: nullable(Type.String()),
})

export const DryRun = Type.Object({
  outcome: Type.Enum(['processed', 'failed', 'forwarded'], {
    description: 'The outcome. `forwarded`: it would be posted to `forwardTo`; it was not.',
  }),
  error: nullable(Type.String(), 'The error that a handler threw, with its stack.'),
  emitted: Type.Array(
    Type.Object({
      id: Type.Optional(Type.String()),
      type: Type.String(),
      data: Type.Unknown(),
      audience: Type.Optional(Type.String()),
      deliverAt: Type.Optional(Type.String()),
      delay: Type.Optional(Type.Number()),
      channels: Type.Optional(Type.Array(Type.String())),
      tags: Type.Optional(Type.Array(Type.String())),
      payloadRetention: Type.Optional(Type.Number()),
    }),
    { description: 'The first hundred events that its handlers would emit.' },
  ),
  emittedTotal: Type.Integer(),
  forwardTo: nullable(Type.String(), 'The address that the source forwards to, without its query.'),
  durationMs: Type.Integer(),
})

const Detailed = Type.Object({
  ...DryRun.properties,
  handlers: Type.Array(Type.String(), { description: 'The ids of the handlers that match the event' }),
  tables: Type.Array(WrittenTable, {
    description: 'The rows that the handlers wrote and that were rolled back',
  }),
  log: Type.Array(Line, { description: 'What the handlers wrote to `context.log`; not to `console`' }),
  notes: Type.Array(Type.String(), { description: 'What could not be seen' }),
})

export type DryRunResult = Static<typeof Detailed>

/** Runs the handlers of an event without keeping their work. */
export function dryRunRoutes(app: App, { dryRuns }: ReceivingRouteParts): void {
  app.post(
    '/events/:id/dry-run',
    route(
      { scope: 'webhooks:write' },
      ['events'],
      "Run a received event's handlers without committing",
      {
        description: `Also for processed events. The answer shows the rows that would be written, the events that would be emitted, log lines, the error and the time. Handlers see \`context.dryRun\`; what they do outside of their transaction is not undone. At most ${dryRunLimit / 1000} seconds, and one dry run for each person at a time. A key needs the scope \`events:read\` as well.`,
        params: IdParams,
        body: EmptyBody,
        response: { 200: Detailed },
      },
      { optionalBody: true },
    ),
    async (request, reply) => {
      const id = readEventNumber(request.params.id)
      // It shows the event's data and rows of the database, and a write scope alone reads nothing.
      requireScope(request, 'events:read')
      return reply.send({ ...(await dryRuns.one(id, { processed: true, origin: auditOrigin(request) })) })
    },
  )
}
