import { createDatabase } from '../harness/databases.ts'
import type { EngineName } from '../harness/databases.ts'
import { startHelper } from '../harness/processes.ts'
import { startRedis } from '../harness/redis.ts'
import type { RivalRound } from '../rivals/round.ts'
import { createOrdersAndMarkers } from './orders.ts'
import { rateOf } from './rate.ts'
import type { Rival } from './rivals.ts'

/** A rival in a process of its own, on a database of its own, and with a Redis of its own where it needs one. */
export interface RunningRival extends AsyncDisposable {
  /** Puts so many events into its queue, then lets it process them with a setting; events per second. */
  process: (prefix: string, count: number, tuning: object) => Promise<number>
}

export async function startRival(
  { file, redis }: Rival,
  engine: EngineName,
  postgresServer: string | undefined,
  bytes: number,
): Promise<RunningRival> {
  await using starting = new AsyncDisposableStack()
  const database = await createDatabase(engine, postgresServer)
  await createOrdersAndMarkers(database)
  const redisPort = redis === undefined ? undefined : starting.use(await startRedis(redis)).port
  const parameters = { engine, url: database.url, redisPort }
  const helper = starting.use(await startHelper<object, RivalRound<object>, object>(file, parameters))
  const stack = starting.move()
  return {
    async process(prefix, count, tuning) {
      await helper.ask({ prefix, count, bytes, tuning })
      return rateOf(database, 'processed_events', prefix, count)
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Tries every setting once, after a first run that does not count, and tells which is the fastest. */
export async function tune(
  { name, tunings }: Rival,
  running: RunningRival,
  count: number,
  step: (what: string) => void,
): Promise<{ tuning: object; note: string }> {
  const rates: number[] = []
  await running.process('first', count, tunings[0]!)
  for (const [index, tuning] of tunings.entries()) {
    step(`${name}, setting ${index + 1} of ${tunings.length}`)
    rates.push(await running.process(`setting${index}`, count, tuning))
  }
  const best = rates.indexOf(Math.max(...rates))
  const tried = tunings.map((tuning, index) => `${describe(tuning)} ${Math.round(rates[index]!)}/s`)
  return {
    tuning: tunings[best]!,
    note: `${name} ran as ${describe(tunings[best]!)}; tried: ${tried.join(', ')}.`,
  }
}

/** `concurrentJobs 8, localQueue.size 100`. */
function describe(tuning: object, prefix = ''): string {
  return Object.entries(tuning)
    .map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? describe(value, `${prefix}${name}.`)
        : `${prefix}${name} ${String(value)}`,
    )
    .join(', ')
}
