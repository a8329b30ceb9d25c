import { setTimeout as wait } from 'node:timers/promises'
import { join } from 'node:path'
import { createDatabase, execute, readNumber, type BenchDatabase } from './harness/databases.ts'
import { production, startPostern } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'
import { storeBacklog, waitUntilProcessed } from './process/backlog.ts'

const events = 1_500
/** Rows that the events of a contended side share. */
const few = 20
const limit = 120_000
/** What contended rows may cost on one process, of what rows of their own cost. */
const most = 2
/** Connections of each plain process: as many as a process of the service has for handlers and their statements. */
const connections = 8

interface SideSettings {
  name: string
  processes: number
  rows: number
  /** Whether it is a loop over node-postgres with one transaction for each event. */
  plain?: boolean
}

const sideSettings: readonly SideSettings[] = [
  { name: '1 process, a row for each event', processes: 1, rows: 0 },
  ...[1, 2, 4].flatMap((processes) => {
    const name = `${processes} process${processes > 1 ? 'es' : ''}`
    return [
      { name: `${name}, ${few} rows`, processes, rows: few },
      { name: `plain pg, ${name}, ${few} rows`, processes, rows: few, plain: true },
    ]
  }),
]

interface Measured {
  seconds: number
  deadlocks: number
}

export const contention: Bench = {
  name: 'contention',
  about: `A backlog of ${events} events through a handler that reads and then updates one row: of its own, or one of ${few}`,
  plan(scale) {
    if (!scale.engines.includes('postgres')) return { steps: 0, seconds: 0 }
    const steps = countSteps(sideSettings.length, scale)
    return { steps, seconds: steps * 12 * Math.max(0.3, scale.size) }
  },
  async run(context) {
    const { postgresServer, scale, step } = context
    if (!scale.engines.includes('postgres') || postgresServer === undefined)
      return { figures: [], ratios: [], notes: ['Not measured: it is about PostgreSQL.'] }
    const sides = sideSettings.map((settings) => sideOf(settings, postgresServer, context))
    return report(await interleave(sides, scale, step))
  },
}

function report(results: readonly (readonly Measured[])[]): Outcome {
  const times = results.map((rounds, index) =>
    figure(
      sideSettings[index]!.name,
      's',
      rounds.map(({ seconds }) => seconds),
    ),
  )
  const deadlocks = results.flat().reduce((sum, round) => sum + round.deadlocks, 0)
  if (deadlocks > 0) throw new Error(`${deadlocks} deadlocks of handlers that lock one row each`)
  const of = (name: string) => times[sideSettings.findIndex((side) => side.name === name)]!
  const own = of('1 process, a row for each event')
  return {
    figures: times,
    ratios: [
      ratio(`a row for each event / ${few} rows, 1 process`, own, of(`1 process, ${few} rows`), {
        bound: 1 / most,
      }),
      ...[1, 2, 4].map((count) => {
        const name = `${count} process${count > 1 ? 'es' : ''}, ${few} rows`
        return ratio(`plain pg / Postern, ${name}`, of(`plain pg, ${name}`), of(name))
      }),
    ],
    notes: [
      `Each event runs \`select\` and then \`update … where id = …\` in one transaction. The clock runs from the first to the last of the times at which the transactions began to update, so the start of a process is not in it. Plain pg has ${connections} connections for each process and a transaction for each event, without a queue. Every update happened once, and pg_stat_database counted no deadlock.`,
    ],
  }
}

function sideOf(
  { name, processes, rows, plain = false }: SideSettings,
  server: string,
  { scale }: BenchContext,
): Side<Measured> {
  return {
    name,
    async run(prefix) {
      const count = scaled(events, scale)
      await using stack = new AsyncDisposableStack()
      const database = await createDatabase('postgres', server)
      await execute(
        database,
        `create table counters (id bigint primary key, n bigint not null, event text);
         insert into counters select id, 0, null from generate_series(0, ${Math.max(count, few)}) as id;
         create table updates (at timestamptz not null);
         create function note_update() returns trigger language plpgsql as
           'begin insert into updates values (clock_timestamp()); return null; end';
         create trigger note_update after update on counters for each row execute function note_update()`,
      )
      if (plain) {
        const loops = await Promise.all(
          Array.from({ length: processes }, (_, process) =>
            startHelper<object, object, object>('bare/updating-loop.ts', {
              url: database.url,
              connections,
              numbers: Array.from({ length: count }, (_, number) => number).filter(
                (number) => number % processes === process,
              ),
              rows,
            }),
          ),
        )
        for (const loop of loops) stack.use(loop)
        await Promise.all(loops.map((loop) => loop.ask({})))
      } else {
        const env = {
          ...production,
          POSTERN_CONFIG: join(import.meta.dirname, 'contention', 'handler.config.ts'),
          CONTENTION_ROWS: String(rows),
          DATABASE_URL: database.url,
        }
        for (let index = 0; index < processes; index += 1)
          stack.use(await startPostern({ folder: database.folder, env }))
        await storeBacklog(database, { prefix, count, bytes: 450, atLeast: 4_000 })
        await waitUntilProcessed(database, limit)
      }
      return await measuredIn(database, count)
    },
  }
}

async function measuredIn(database: BenchDatabase, count: number): Promise<Measured> {
  const updates = await readNumber(database, 'select sum(n) from counters')
  if (updates !== count) throw new Error(`${updates} updates for ${count} events`)
  // What a session counts shows when it has been idle for a second.
  await wait(1_200)
  return {
    seconds: await readNumber(database, 'select extract(epoch from max(at) - min(at)) + 0.001 from updates'),
    deadlocks: await readNumber(
      database,
      'select deadlocks from pg_stat_database where datname = current_database()',
    ),
  }
}
