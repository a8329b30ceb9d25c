// The configuration module of the processes that the chaos suite breaks. Each run of a handler is written to a file, by which
// runs of one event that overlap are found.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineConfig, type Handler, type HandlerContext } from 'postern'
import { sql } from 'kysely'
import { textOf, type Manner, type Work } from '../load/item.ts'
import { now } from '../now.ts'
import type { Mark } from './runs.ts'

interface EffectTable {
  event_id: string
  tenant: string
  number: number
  text: string
}
type Tables = { chaos_effects: EffectTable }

const file = process.env['CHAOS_RUNS'] ?? '/dev/null'

const workOf = (payload: unknown): Work => (payload as { data: Work }).data

const handle: Handler = async (event, { tx, emit, signal }) => {
  const { lasts, follow, manner, tenant, number, text } = workOf(event.payload)
  const run = randomUUID()
  const mark = (end: boolean): void => {
    const line: Mark = { run, event: event.id, pid: process.pid, end, at: now() }
    // Quick runs cannot overlap for long.
    if (lasts > 0) appendFileSync(file, `${JSON.stringify(line)}\n`)
  }
  mark(false)
  if (lasts > 0) await wait(lasts, undefined, { signal })
  const effect = { event_id: event.id, tenant, number, text }
  await tx.withTables<Tables>().insertInto('chaos_effects').values(effect).execute()
  if (manner) await misbehave(manner, event.id, number, tx, signal)
  if (follow) {
    const id = `follow-${tenant}-${number}`
    emit({
      type: 'chaos.followed',
      id,
      audience: tenant,
      data: { tenant, number, text: textOf(id), cause: event.id },
    })
  }
  // A run that was told to stop has not come to its end.
  signal.throwIfAborted()
  mark(true)
}

const begun = new Set<string>()

async function misbehave(
  manner: Manner,
  id: string,
  number: number,
  tx: HandlerContext['tx'],
  signal: AbortSignal,
): Promise<void> {
  const isFirst = !begun.has(id)
  begun.add(id)
  if (manner === 'holds' && isFirst && number % 10 === 0) await wait(20_000, undefined, { signal })
  if (manner === 'locks') {
    await sql`select 1 as one`.execute(tx)
    await sql`update chaos_counters set n = n + 1 where id = ${number % 20}`.execute(tx)
  }
  if (manner === 'settings')
    await sql
      .raw(
        `do $$ begin perform set_config('default_transaction_read_only', 'on', false); perform pg_advisory_lock(7, ${number});
           create temp table chaos_settings (a integer); end $$`,
      )
      .execute(tx)
  if (manner === 'sleeps' && isFirst && number % 20 === 0) await sql`select pg_sleep(600)`.execute(tx)
}

export default defineConfig({
  receiving: {
    handlers: {
      'chaos.free': handle,
      'chaos.sleeping': { handle, timeout: 1 },
      'chaos.ordered': { handle, orderBy: (event) => workOf(event.payload).key ?? '' },
    },
  },
})
