import { execute, type BenchDatabase } from '../harness/databases.ts'

/** Registers subscribers past the service, copies of one that is there: thousands in a moment. */
export function copySubscribers(database: BenchDatabase, id: string, count: number): Promise<void> {
  const columns = `url, event_types, status, ordered, signing, created_at, updated_at`
  return execute(
    database,
    `insert into subscribers (id, ${columns}) ${numbers(database, count)}
      select ${text(database, `'copy-'`)} || n, ${columns} from numbers, subscribers where id = '${id}'`,
  )
}

/** Makes deliveries of one event that is in the log, all due, to one subscriber. */
export function queueDeliveries(
  database: BenchDatabase,
  {
    event,
    subscriberId,
    count,
    dueAt,
  }: { event: number; subscriberId: string; count: number; dueAt: number },
): Promise<void> {
  return execute(
    database,
    `insert into deliveries (event, subscriber_id, status, attempts, attempts_before, due_at, created_at)
      ${numbers(database, count)} select ${event}, '${subscriberId}', 'pending', 0, 0, ${dueAt}, ${dueAt} from numbers`,
  )
}

const text = ({ engine }: BenchDatabase, literal: string): string =>
  engine === 'sqlite' ? literal : `${literal}::text`

function numbers({ engine }: BenchDatabase, count: number): string {
  return engine === 'postgres'
    ? `with numbers as (select generate_series(1, ${count}) as n)`
    : `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})`
}
