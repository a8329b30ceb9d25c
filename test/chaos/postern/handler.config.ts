// The configuration module of the processes that the chaos suite breaks. Each run of a handler is written to a file, by which
// runs of one event that overlap are found.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineConfig, type Handler } from 'postern'
import { textOf, type Work } from '../load/item.ts'
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
  const { lasts, follow, tenant, number, text } = workOf(event.payload)
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

export default defineConfig({
  receiving: {
    handlers: {
      'chaos.free': handle,
      'chaos.ordered': { handle, orderBy: (event) => workOf(event.payload).key ?? '' },
    },
  },
})
