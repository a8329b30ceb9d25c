import type { SqlValue } from '../../../src/storage/sqlite/connection.ts'
import type { Storage, StoredTransaction } from './storage.ts'
import { mostCrashes } from '../../../src/receiving/worker/failures.ts'
import { kinds, type Task } from './work.ts'

interface Row {
  event: number
  event_id: string
  type: string
  status: string
  claim: string | null
  order_key: string | null
  effects: number
  late: number
  follow_ups: number
  /** Those that the schedule counts. */
  failures: number
  /** Ends of the process while it ran the event alone. */
  crashes: number
}

const select = `
  select event, event_id, type, status, claim, order_key,
    (select count(*) from effects where effects.event = cast(substr(event_id, 2) as integer)) as effects,
    (select count(*) from effects where effects.event = cast(substr(event_id, 2) as integer) and late = 1) as late,
    (select count(*) from follow_ups where follow_ups.event = event_queue.event) as follow_ups,
    (select count(*) from handler_failures where event = event_queue.event and number > attempts_before) - coalesce(crashes, 0) as failures,
    coalesce(crashes, 0) as crashes
  from event_queue`
const earlier = `
  select event_id from event_queue where order_key = ? and event < ? and status in ('pending', 'blocked')`
const pendingOf = `select count(*) as count from event_queue where order_key = ? and status = 'pending'`

const kindOf = new Map(kinds.map((kind) => [kind.type, kind]))

/** What must be true of the tables, whoever is killed when. */
export class Invariants {
  readonly #storage: Storage
  readonly #tasks: ReadonlyMap<string, Task>
  readonly #fail: (what: string) => void
  readonly #attempts: number
  #settled: boolean | undefined

  /** @param attempts that the schedule gives an event */
  constructor(
    storage: Storage,
    tasks: ReadonlyMap<string, Task>,
    attempts: number,
    fail: (what: string) => void,
  ) {
    this.#storage = storage
    this.#tasks = tasks
    this.#attempts = attempts
    this.#fail = fail
  }

  /** At each commit, of what it wrote. */
  afterCommit({ redo }: StoredTransaction): void {
    this.#settled = undefined
    const ofEventQueue = new Set<SqlValue>()
    const ids = new Set<string>()
    for (const { table, values } of redo) {
      if (table === 'effects') ids.add(`e${String(values[1])}`)
      else ofEventQueue.add(table === 'follow_ups' ? values[1]! : values[0]!)
    }
    for (const event of ofEventQueue) this.#check(`${select} where event = ?`, event)
    for (const id of ids) this.#check(`${select} where event_id = ?`, id)
  }

  #check(sql: string, parameter: SqlValue): void {
    const [row] = this.#storage.read(sql, [parameter]).rows as unknown as Row[]
    if (!row) return this.#fail(`a row that was written is not there: ${String(parameter)}`)
    this.#exactlyOnce(row)
    if (row.order_key !== null) this.#inOrder(row)
  }

  /** Marker, work and follow-up are there together, once, or not at all. */
  #exactlyOnce({ event_id: id, type, status, effects, follow_ups, late }: Row): void {
    const { effects: wanted, followUps } = kindOf.get(type)!
    const done = status === 'processed'
    const excused = done && effects < wanted && this.#tasks.get(id)!.excused
    if (effects !== (done ? wanted : 0) && !excused)
      this.#fail(`${id} (${type}) is ${status} and has ${effects} effects`)
    if (follow_ups !== (done ? followUps : 0))
      this.#fail(`${id} (${type}) is ${status} and has ${follow_ups} follow-ups`)
    if (late > 0) this.#fail(`${id} (${type}) has an effect from after its time`)
  }

  #inOrder({ event, event_id: id, status, order_key: key }: Row): void {
    const [{ count } = { count: 0 }] = this.#storage.read(pendingOf, [key]).rows
    if (Number(count) > 1) this.#fail(`${String(count)} events of ${key} are on their way at once`)
    if (status !== 'processed') return
    for (const { event_id: before } of this.#storage.read(earlier, [key, event]).rows) {
      if (!this.#tasks.get(before as string)!.reprocessed)
        this.#fail(`${id} of ${key} was processed before ${String(before)}`)
    }
  }

  /** Whether nothing is left to be done. Only a commit changes that. */
  get settled(): boolean {
    return (this.#settled ??=
      this.#storage.read(`select 1 from event_queue where status in ('pending', 'blocked') limit 1`).rows
        .length === 0)
  }

  unsettled(): string {
    return JSON.stringify(
      this.#storage.read(
        `select event, event_id, type, status, attempts, due_at, claim, order_key from event_queue where status in ('pending', 'blocked')`,
      ).rows,
    )
  }

  /** When nothing is left to be done. */
  atTheEnd({ calm, engine }: { calm: boolean; engine: 'sqlite' | 'postgres' }): void {
    const rows = this.#storage.read(select).rows as unknown as Row[]
    const byId = new Map(rows.map((row) => [row.event_id, row]))
    for (const task of this.#tasks.values()) {
      const row = byId.get(task.eventId)
      if (!row) {
        if (task.acknowledged) this.#fail(`${task.eventId} was acknowledged and is lost`)
        continue
      }
      this.#exactlyOnce(row)
      if (row.claim !== null) this.#fail(`${row.event_id} is ${row.status} and still claimed`)
      if (row.status === 'failed' && row.failures !== this.#attempts && row.crashes < mostCrashes)
        this.#fail(`${row.event_id} has failed after ${row.failures} of ${this.#attempts} attempts`)
      if (row.crashes > mostCrashes)
        this.#fail(`${row.event_id} ran alone ${row.crashes} times and ended the process`)
      if (row.status === 'processed' && row.crashes >= mostCrashes)
        this.#fail(`${row.event_id} was processed after ${row.crashes} ends of its process`)
      if (row.status === 'processed' && row.failures >= this.#attempts)
        this.#fail(`${row.event_id} was processed after ${row.failures} failures`)
      // In calm weather an event fails by its own attempts only, even while other handlers hang in their transactions.
      const own = task.bad + (task.careless && engine === 'postgres' ? 1 : 0)
      if (calm && row.status === 'failed' && own < this.#attempts)
        this.#fail(`${row.event_id} (${task.type}) has failed, with ${own} bad attempts`)
      if (row.status === 'processed' && task.bad === Infinity && task.type !== 'nobody')
        this.#fail(`${row.event_id} is poison and was processed`)
    }
  }

  failed(): string[] {
    return this.#storage
      .read(`select event_id from event_queue where status = 'failed'`)
      .rows.map(({ event_id }) => event_id as string)
  }
}
