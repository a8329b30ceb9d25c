import type { CompiledQuery } from 'kysely'
import type { Clock } from '../runtime/clock.ts'
import { lockSpaces } from '../storage/advisory-locks.ts'
import type { PostgresDatabase } from '../storage/database.ts'
import { openClaimSessions, type ClaimerList } from '../storage/postgres/session/claim-session.ts'
import { Claimer } from '../storage/postgres/session/claimer.ts'
import { bounded, toResult } from '../storage/postgres/driver/statement.ts'
import { kyselyOver } from '../storage/query-runner.ts'
import { translated } from '../storage/unavailable.ts'
import { activeSubscribersIn, type DeliveryStore } from './store.ts'
import { answerWithin, runOn } from './postgres/run.ts'
import { completionsIn } from './postgres/completions.ts'
import { dueReadsIn, readPayloadsBy } from './postgres/due-reads.ts'
import { ownershipIn } from './postgres/ownership.ts'

// Named statements are planned once, without the values. The literal 'pending' lets them use the partial indexes. Scans and reads
// run on sessions without sorts (`seeks`), and only one index provides their order: with a choice, outdated statistics could let
// PostgreSQL sort a million waiting rows for each batch.

const dispatchers: ClaimerList = {
  table: 'dispatchers',
  lockSpace: lockSpaces.dispatchers,
  takeOver: 'delete from queue_owners where dispatcher in (select id from dead)',
}

export interface PostgresDeliveryStoreParts {
  database: PostgresDatabase
  clock: Clock
  onError: (error: unknown) => void
}

/** The owner of a queue is a row of `queue_owners` that names a dispatcher. A dispatcher lives as long as its session. */
export function postgresDeliveryStore({
  database,
  clock,
  onError,
}: PostgresDeliveryStoreParts): DeliveryStore {
  const { pool, seeks, claiming } = database
  const claimer = new Claimer({ open: openClaimSessions(dispatchers, claiming, pool), clock, onError })
  const reader = kyselyOver('postgres', async ({ sql, parameters }: CompiledQuery) =>
    toResult(await translated(pool.query(bounded(answerWithin, sql, [...parameters])))),
  )
  return {
    activeSubscribers: activeSubscribersIn(reader),
    readPayloads: readPayloadsBy(runOn(pool)),
    ...ownershipIn(runOn(pool), runOn(seeks), claimer),
    ...dueReadsIn(runOn(seeks)),
    ...completionsIn(pool),
  }
}
