import type { Database, Queryable } from '../../storage/database.ts'
import type { HistoryStore } from '../../telemetry/history/store.ts'

/** What demo mode creates by itself, which does not count as done. */
export interface DemoNames {
  readonly provider: string
  readonly keys: readonly string[]
  readonly subscribers: readonly string[]
  /** The subscribers that get sample events only. */
  readonly subscribersOfSamples: readonly string[]
  /** The source of the sample events, and how their types begin. */
  readonly source: string
  readonly types: string
  /** The time until which the history counts the sample events, in milliseconds since 1970; undefined without them. */
  readonly samplesUntil: () => Promise<number | undefined>
}

/** Which steps of an installation are done, by what is stored. */
export interface InstallationFacts {
  realSignIn: boolean
  webhook: boolean
  handlerRun: boolean
  key: boolean
  subscriber: boolean
  delivery: boolean
}

/** Rows that are examined, the latest. A fresh installation has fewer; later, the history knows. */
const mostExamined = 100

/** Reads the facts by a few seeks in indexes. */
export async function readFacts(
  { reader }: Pick<Database, 'reader'>,
  history: Pick<HistoryStore, 'hasSucceeded'>,
  demo: DemoNames,
): Promise<InstallationFacts> {
  const samplesUntil = await demo.samplesUntil()
  const events = await reader
    .selectFrom('event_queue')
    .select(['status', 'attempts'])
    .where((eb) => eb.not(eb.and([eb('source', '=', demo.source), eb('type', 'like', `${demo.types}%`)])))
    .orderBy('event', 'desc')
    .limit(mostExamined)
    .execute()
  const deliveries = await reader
    .selectFrom('deliveries')
    .select('status')
    .where('subscriber_id', 'not in', demo.subscribersOfSamples)
    .orderBy('id', 'desc')
    .limit(mostExamined)
    .execute()
  return {
    realSignIn: await hasRealIdentity(reader, demo.provider),
    webhook: events.length > 0,
    handlerRun:
      events.some(({ status, attempts }) => status === 'processed' && attempts > 0) ||
      (await history.hasSucceeded('handlers', samplesUntil)),
    key:
      (
        await reader
          .selectFrom('api_keys')
          .select('id')
          .where('revoked_at', 'is', null)
          .where('id', 'not in', demo.keys)
          .limit(1)
          .execute()
      ).length > 0,
    subscriber:
      (
        await reader
          .selectFrom('subscribers')
          .select('id')
          .where('id', 'not in', [...demo.subscribers, ...demo.subscribersOfSamples])
          .limit(1)
          .execute()
      ).length > 0,
    delivery:
      deliveries.some(({ status }) => status === 'delivered') ||
      (await history.hasSucceeded('deliveries', samplesUntil)),
  }
}

/** Seeks before and behind the identities of the demo provider, which may be many. */
async function hasRealIdentity(reader: Queryable, demoProvider: string): Promise<boolean> {
  for (const operator of ['<', '>'] as const) {
    const found = await reader
      .selectFrom('identities')
      .select('provider')
      .where('provider', operator, demoProvider)
      .limit(1)
      .execute()
    if (found.length > 0) return true
  }
  return false
}
