import type { DueDelivery, Completion, DueSubscribers, ReadRequest } from '../../../src/emitting/store.ts'

export interface DeliveryRow {
  readonly id: number
  readonly event: number
  readonly subscriberId: string
  status: 'pending' | 'delivered' | 'dead'
  attempts: number
  attemptsBefore: number
  dueAt: number
  /** Virtual time of the commit that ended it. */
  finishedAt: number | undefined
}

export interface SubscriberRow {
  readonly id: string
  status: 'active' | 'paused' | 'disabled'
  readonly ordered: boolean
  readonly concurrency: number
  readonly rate: number | undefined
  readonly timeout: number
  updatedAt: number
}

/** What the database holds, as the statements of both engines see it: each method is one commit, or one snapshot. */
export class Tables {
  readonly deliveries: DeliveryRow[] = []
  readonly subscribers = new Map<string, SubscriberRow>()
  /** By subscriber, the dispatcher that has its lane. */
  readonly lanes = new Map<string, number>()
  readonly dispatchers = new Set<number>()
  #dispatchersMade = 0

  enlist(): number {
    this.#dispatchersMade += 1
    this.dispatchers.add(this.#dispatchersMade)
    return this.#dispatchersMade
  }

  /** A dispatcher's row goes, and with it what its lanes say. Returns how many they were. */
  strike(dispatcher: number): number {
    this.dispatchers.delete(dispatcher)
    const own = [...this.lanes].filter(([, holder]) => holder === dispatcher)
    for (const [id] of own) this.lanes.delete(id)
    return own.length
  }

  emit(event: number, subscriberIds: readonly string[], dueAt: number): DeliveryRow[] {
    return subscriberIds.map((subscriberId) => {
      const id = this.deliveries.length + 1
      const row: DeliveryRow = {
        id,
        event,
        subscriberId,
        status: 'pending',
        attempts: 0,
        attemptsBefore: 0,
        dueAt,
        finishedAt: undefined,
      }
      this.deliveries.push(row)
      return row
    })
  }

  due(now: number, after: string, dispatcher: number | undefined, limit: number): DueSubscribers {
    const waiting = [...new Set(this.#pending().map(({ subscriberId }) => subscriberId))].toSorted()
    const active = [...this.subscribers.values()].filter(({ status }) => status === 'active')
    const activeIds = new Set(active.map(({ id }) => id).toSorted())
    const looked: string[] = []
    for (let last = after, leap = false; looked.length < limit;) {
      const from: string | undefined = leap ? [...activeIds].find((id) => id > last) : last
      const next: string | undefined =
        from === undefined ? undefined : waiting.find((id) => (leap ? id >= from : id > from))
      if (next === undefined) break
      looked.push((last = next))
      leap = !activeIds.has(next)
    }
    const ids = looked.filter((id) => {
      const row = this.subscribers.get(id)!
      const holder = this.lanes.get(id)
      return row.status === 'active' && (holder ?? dispatcher) === dispatcher && this.#nextDue(row) <= now
    })
    return { ids, next: looked.length < limit ? undefined : looked.at(-1)! }
  }

  /** @throws when the dispatcher is struck off: its key is not there for the lane to refer to. */
  take(subscriberIds: readonly string[], dispatcher: number): string[] {
    if (!this.dispatchers.has(dispatcher)) throw new Error('there is no such dispatcher')
    for (const id of subscriberIds)
      if (this.subscribers.get(id)!.status === 'active' && !this.lanes.has(id)) this.lanes.set(id, dispatcher)
    return subscriberIds.filter((id) => this.lanes.get(id) === dispatcher)
  }

  release(subscriberIds: readonly string[], dispatcher: number): void {
    for (const id of subscriberIds) if (this.lanes.get(id) === dispatcher) this.lanes.delete(id)
  }

  read(wanted: readonly ReadRequest[], now: number): DueDelivery[] {
    return wanted
      .flatMap((want) => {
        const rows = this.#pending().filter(({ subscriberId }) => subscriberId === want.subscriberId)
        if (want.ordered) return rows.slice(0, 1).filter(({ dueAt }) => dueAt <= now)
        const { behind } = want
        return rows
          .filter(
            ({ attempts, dueAt, id }) =>
              attempts > 0 === want.retries &&
              dueAt <= now &&
              (dueAt > behind.dueAt || (dueAt === behind.dueAt && id > behind.id)),
          )
          .toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
          .slice(0, want.count)
      })
      .map(({ id, event, subscriberId, attempts, attemptsBefore, dueAt }) => ({
        id,
        event,
        subscriberId,
        number: attempts + 1,
        begun: attempts + 1 - attemptsBefore,
        dueAt,
        nonce: event,
      }))
  }

  complete(completions: readonly Completion[], at: number): void {
    for (const { delivery, status, dueAt } of completions) {
      const row = this.deliveries[delivery.id - 1]!
      const late = status === 'delivered' && row.status === 'pending' && delivery.number > row.attemptsBefore
      if (row.attempts !== delivery.number - 1 && !late) continue
      row.attempts += 1
      if (row.status !== 'pending') continue
      row.status = status
      row.dueAt = dueAt
      if (status === 'pending') continue
      row.finishedAt = at
    }
  }

  replay(row: DeliveryRow, now: number): void {
    row.status = 'pending'
    row.attemptsBefore = row.attempts
    row.dueAt = now
    row.finishedAt = undefined
  }

  #pending(): DeliveryRow[] {
    return this.deliveries.filter(({ status }) => status === 'pending')
  }

  #nextDue({ id, ordered }: SubscriberRow): number {
    const rows = this.#pending().filter(({ subscriberId }) => subscriberId === id)
    return ordered ? rows[0]!.dueAt : Math.min(...rows.map(({ dueAt }) => dueAt))
  }
}
