import { loadConfigModule } from '../config/module.ts'
import type { PosternConfig } from '../define-config.ts'
import { Problem } from '../errors.ts'
import type { EventOwner } from '../emitting/subscribers/owner-directory.ts'
import { InvalidRecord } from '../listing/importing/target.ts'
import { printable } from '../telemetry/printable.ts'
import { readTimeOption } from './relative-time.ts'
import { exitCodes, UsageFailure } from './command-failure.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'
import { print } from './output.ts'
import { showProgress, type Progress } from './progress.ts'
import { readSettings } from './settings.ts'
import {
  type Outcome,
  type SvixApplication,
  type SvixEndpoint,
  type SvixEventType,
  SvixSource,
  SvixTarget,
} from './svix.ts'

export interface SvixImportOptions {
  from: string
  iterator?: string
  dryRun?: boolean
  /** Also imports the messages since this time. */
  messagesSince?: string
}

const kinds = ['eventTypes', 'applications', 'endpoints', 'messages'] as const
type Kind = (typeof kinds)[number]
type Counts = Record<Outcome | 'skipped', number>
/** Where an interrupted import continues: the iterator of a page of applications, or null for the first page. */
type Position = string | null

/** Entries per page. */
const limit = '50'

/**
 * Imports from a running Svix server: event types, then each application with its endpoints and optionally its messages. Ctrl-C stops
 * it after the current application or page of messages. Exit codes: 0 if everything was imported, 3 if entries were skipped, 130 after Ctrl-C.
 */
export async function importSvix({
  from,
  iterator,
  dryRun = false,
  messagesSince,
}: SvixImportOptions): Promise<void> {
  const token = process.env['SVIX_AUTH_TOKEN']
  if (!token) throw new UsageFailure('set SVIX_AUTH_TOKEN to an API token of the Svix environment')
  const since = messagesSince === undefined ? undefined : readTimeOption(messagesSince, 'messages-since')
  const settings = readSettings()
  await interruptible(({ signal }) =>
    withDatabase(settings, async (database) => {
      const source = new SvixSource(from, token, signal)
      const config = await loadConfigModule<PosternConfig>(settings.configFile)
      const target = new SvixTarget(settings, config, database, dryRun)
      const detail = { kind: 'svix', from: new URL(from).origin }
      if (!dryRun) await recordCommand(database, { action: 'import.started', detail })
      const progress = showProgress(0, 'applications', false)
      const run = new SvixImport(source, target, progress, signal, since)
      const end = await run.all(iterator).finally(() => progress.stop())
      await target.close()
      if (!dryRun)
        await recordCommand(database, {
          action: 'import.finished',
          detail: { ...detail, ...run.totals(), complete: end === undefined },
        })
      const result = { ...run.counts, paused: run.paused, dryRun, complete: end === undefined }
      print({ ...result, ...(end && { iterator: end }) }, run.summary(dryRun, end))
      const { interrupted, partly, done } = exitCodes
      process.exitCode = (end !== undefined ? interrupted : run.totals().skipped > 0 ? partly : done).code
    }),
  )
}

class SvixImport {
  readonly counts = Object.fromEntries(
    kinds.map((kind) => [kind, { created: 0, updated: 0, unchanged: 0, skipped: 0 }]),
  ) as Record<Kind, Counts>
  /** Endpoints that are paused until an administrator completes them. */
  paused = 0
  readonly #source: SvixSource
  readonly #target: SvixTarget
  readonly #progress: Progress
  readonly #signal: AbortSignal
  readonly #since: number | undefined

  /** @param since also imports the messages since this time, in milliseconds since 1970 */
  constructor(
    source: SvixSource,
    target: SvixTarget,
    progress: Progress,
    signal: AbortSignal,
    since: number | undefined,
  ) {
    this.#source = source
    this.#target = target
    this.#progress = progress
    this.#signal = signal
    this.#since = since
  }

  /** @returns where to continue, if the signal stopped the import */
  async all(iterator: string | undefined): Promise<Position | undefined> {
    const query = { limit, include_archived: 'true', with_content: 'true' }
    for await (const { items } of this.#source.pages<SvixEventType>('/api/v1/event-type', query)) {
      for (const type of items)
        await this.#count('eventTypes', `event type ${type.name}`, () => this.#target.eventType(type))
      if (this.#signal.aborted) return iterator ?? null
    }
    let done = 0
    for await (const { items, at } of this.#source.pages<SvixApplication>(
      '/api/v1/app',
      { limit },
      iterator,
    )) {
      for (const application of items) {
        if (this.#signal.aborted) return at ?? null
        await this.#application(application)
        // This application's messages may be incomplete.
        if (this.#signal.aborted && this.#since !== undefined) return at ?? null
        this.#progress.update(++done)
      }
    }
    return undefined
  }

  async #application(application: SvixApplication): Promise<void> {
    const { id, uid } = application
    const name = `application ${uid ?? id}`
    const owner = await this.#count('applications', name, () => this.#target.application(application))
    if (owner === undefined) return
    for await (const { items } of this.#source.pages<SvixEndpoint>(`/api/v1/app/${id}/endpoint`, { limit })) {
      for (const endpoint of items) {
        const about = `endpoint ${endpoint.uid ?? endpoint.id} of ${name}`
        const toDo = await this.#count('endpoints', about, () =>
          this.#target.endpoint(owner.owner, endpoint, () => this.#source.secretsOf(id, endpoint.id)),
        )
        if (toDo === undefined || toDo.length === 0) continue
        this.paused += 1
        this.#progress.say(printable(`${about} is paused: ${toDo.join(', and ')}`))
      }
    }
    if (this.#since !== undefined) await this.#messages(id, owner, this.#since)
  }

  async #messages(application: string, owner: EventOwner, since: number): Promise<void> {
    const counts = this.counts.messages
    for await (const items of this.#source.messages(application, since)) {
      const skippedBefore = counts.skipped
      const created = await this.#target.messages(owner, items, ({ id }, problem) => {
        counts.skipped += 1
        this.#progress.say(printable(`message ${id} was skipped: ${problem.message}`))
      })
      counts.created += created
      counts.unchanged += items.length - created - (counts.skipped - skippedBefore)
      if (this.#signal.aborted) return
    }
  }

  /** Counts the outcome, and reports why an entry was skipped. */
  async #count<T>(
    kind: Kind,
    about: string,
    work: () => Promise<readonly [Outcome, T]>,
  ): Promise<T | undefined> {
    try {
      const [outcome, value] = await work()
      this.counts[kind][outcome] += 1
      return value
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof InvalidRecord)) throw error
      this.counts[kind].skipped += 1
      this.#progress.say(printable(`${about} was skipped: ${error.message}`))
      return undefined
    }
  }

  totals(): Counts {
    const total = { created: 0, updated: 0, unchanged: 0, skipped: 0 }
    for (const counts of Object.values(this.counts))
      for (const [outcome, number] of Object.entries(counts)) total[outcome as Outcome] += number
    return total
  }

  summary(dryRun: boolean, end: Position | undefined): string {
    const lines = kinds
      .filter((kind) => kind !== 'messages' || this.#since !== undefined)
      .map((kind) => {
        const counts = Object.entries(this.counts[kind]).filter(([, number]) => number > 0)
        return `${kind === 'eventTypes' ? 'event types' : kind}: ${counts.map(([outcome, number]) => `${number} ${outcome}`).join(', ') || 'none'}`
      })
    if (this.paused > 0) lines.push(`paused until you complete them: ${this.paused}`)
    if (dryRun) lines.push('dry run: nothing was written')
    if (end !== undefined)
      lines.push(`interrupted: run it again${end === null ? '' : ` with --iterator ${end}`} to continue`)
    return `${lines.join('\n')}\n`
  }
}
