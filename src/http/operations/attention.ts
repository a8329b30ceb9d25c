import { Type } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import { type App, route } from '../app.ts'
import { type Attention, type AttentionKind, attentionTopics, type FindAttention } from '../attention.ts'
import { SharedAnswers } from '../caching/tagged-answer.ts'
import { DateTime, nullable } from '../schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FileSpoolSettings } from '../../config/address-readers.ts'
import { causeOf } from '../../storage/unavailable.ts'
import { oldestDue, type ReadinessParts, spoolReport, stalledAfter } from './readiness.ts'

const mebibyte = 1024 ** 2
/** A volume fills when less than one of these is free: a share of it, or bytes. */
const fills = { share: 0.1, bytes: 1024 * mebibyte }
const almostFull = { share: 0.03, bytes: 256 * mebibyte }

/** Work that stalls, and the state of the spool. */
export async function stalledWork({
  workers,
  clock,
  spool,
  checkSpool,
}: ReadinessParts): Promise<Attention[]> {
  const found: Attention[] = []
  const now = clock.now()
  for (const worker of workers) {
    if (!worker.oldestDue) continue
    const age = await oldestDue(worker, clock)
    if (age <= stalledAfter) continue
    found.push({
      kind: 'work-stalls',
      severity: 'error',
      text: `Queue delayed: the oldest work of the ${worker.name} worker has been due for ${Math.floor(age / 60)} minutes.`,
      since: now - age * 1000,
      about: { topic: 'worker', id: worker.name },
    })
  }
  const ofSpool = (kind: AttentionKind, text: string, since: number | null = null): void =>
    void found.push({ kind, severity: 'error', text, since, about: { topic: 'spool', id: 'spool' } })
  try {
    await checkSpool?.()
  } catch (error) {
    const { message } = causeOf(error) as Error
    ofSpool('spool-unavailable', `${message.replace(/^the/, 'The')}. Run postern doctor to see why.`)
  }
  if (!spool) return found
  const { status, events = 0, oldestSeconds = 0 } = await spoolReport(spool, clock)
  const since = events > 0 ? now - oldestSeconds * 1000 : null
  if (status === 'full') ofSpool('spool-full', 'The spool is full: webhooks are rejected.', since)
  else if (status === 'unavailable')
    ofSpool(
      'spool-unavailable',
      'The spool does not respond: if the database becomes unavailable, webhooks will be rejected.',
    )
  else if (spool.away) ofSpool('spooling', 'Database unavailable: webhooks are being spooled.', since)
  return found
}

/** The volumes of an SQLite file and of a spool's file, if they fill. Files of other machines are not seen. */
export async function fillingDisks(
  database: { engine: 'sqlite'; file: string } | { engine: 'postgres' },
  spool: FileSpoolSettings | undefined,
): Promise<Attention[]> {
  const files = [
    ...(database.engine === 'sqlite'
      ? [{ topic: 'database', name: 'database', file: database.file } as const]
      : []),
    ...(spool ? [{ topic: 'spool', name: 'spool', file: spool.file } as const] : []),
  ]
  const found = await Promise.all(
    files.map(async ({ topic, name, file }): Promise<Attention[]> => {
      const space = await spaceAt(dirname(file))
      const severity = space && severityOf(space)
      if (!space || !severity) return []
      const text = `The disk of the ${name} is almost full: ${Math.floor(space.free / mebibyte)} of ${Math.floor(space.size / mebibyte)} MiB free.`
      return [{ kind: 'disk-fills', severity, text, since: null, about: { topic, id: name } }]
    }),
  )
  return found.flat()
}

interface Space {
  /** Bytes. */
  readonly free: number
  readonly size: number
}

/** How urgent it is that a volume fills; undefined if it does not. A small volume is judged by its share alone. */
export function severityOf({ free, size }: Space): Attention['severity'] | undefined {
  const below = (limit: typeof fills): boolean =>
    free < Math.min(limit.bytes, size / 2) && free < size * limit.share
  return below(almostFull) ? 'error' : below(fills) ? 'warning' : undefined
}

async function spaceAt(folder: string): Promise<Space | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { free: bavail * bsize, size: blocks * bsize }
  } catch {
    // The volume cannot be asked; writes to it report why.
    return undefined
  }
}

/** Milliseconds for which an answer is given again. */
const cachedFor = 3_000

const Item = Type.Object({
  kind: Type.String({ description: 'A stable name, such as `handler-failing`' }),
  severity: Type.Union([Type.Literal('error'), Type.Literal('warning')], {
    description: '`error`: something fails now. `warning`: it will, unless you act',
  }),
  text: Type.String({ description: 'What is wrong, in a sentence' }),
  since: nullable(DateTime),
  about: Type.Object({
    topic: Type.Enum([...attentionTopics]),
    id: Type.String({ description: 'The name or id of what it is about' }),
  }),
})

/** Finds everything that an operator should look at, the urgent first. */
export type FindAllAttention = () => Promise<Attention[]>

/** Declares `GET /attention`: what an operator should look at. Callers of the returned function share its answers. */
export function attentionRoute(app: App, clock: Clock, find: readonly FindAttention[]): FindAllAttention {
  const answers = new SharedAnswers<Attention[]>(clock, cachedFor)
  const findShared = () => answers.get('', () => findAll(find, clock.now()))
  app.get(
    '/attention',
    route(
      { scope: 'operate' },
      ['operations'],
      'Open alerts, most urgent first',
      {
        description:
          'Failing handlers and subscribers, more rejected webhooks, secrets and API keys that end soon, work that stalls, volumes that fill and the spool. At most 20 of each kind. Renewed every three seconds.',
        response: { 200: Type.Object({ data: Type.Array(Item) }) },
      },
      { openInDemo: true, quiet: true },
    ),
    async () => {
      const found = await findShared()
      return { data: found.map(present) }
    },
  )
  return findShared
}

/** One after the other, so that a page takes one connection of the pool. */
async function findAll(find: readonly FindAttention[], now: number): Promise<Attention[]> {
  const found: Attention[] = []
  for (const one of find) found.push(...(await one(now)))
  const order = { error: 0, warning: 1 }
  return found.toSorted(
    (one, other) => order[one.severity] - order[other.severity] || (one.since ?? 0) - (other.since ?? 0),
  )
}

function present({ kind, severity, text, since, about }: Attention) {
  return { kind, severity, text, since: isoTimeOrNull(since), about }
}
