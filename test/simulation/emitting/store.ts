import { subscribersPerScan, type DeliveryStore, type EventPayload } from '../../../src/emitting/store.ts'
import type { Row } from '../../../src/storage/tables.ts'
import type { Claimer, LeaveClaimer } from '../../../src/storage/postgres/session/claimer.ts'
import { ConnectionLost, latency, StatementFailed } from '../receiving/faults.ts'
import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { World } from './world.ts'

/** One process's side of the queue: everything takes its time, fails before or behind its commit, or loses its answer. */
export function simulatedStore(world: World, process: VirtualProcess, claimer: Claimer): DeliveryStore {
  const { tables, chance, time, engine } = world
  let leave: LeaveClaimer | undefined

  function call<T>(what: string, work: () => T): Promise<T> {
    const { weather } = world
    return new Promise((resolve, reject) => {
      // In nobody's process: what was sent is carried out, also when its sender is killed meanwhile.
      time.at(time.now + latency(weather, chance), () => {
        const answer = (then: () => void): void => void process.after(latency(weather, chance), then)
        if (chance.is(weather.connectionBreaks)) return answer(() => reject(new ConnectionLost()))
        if (!process.alive && engine === 'sqlite') return
        if (chance.is(weather.statementFails)) return answer(() => reject(new StatementFailed()))
        let result: T
        try {
          result = work()
        } catch (error) {
          const failure = error instanceof Error ? error : new Error(String(error))
          return answer(() => reject(failure))
        }
        if (chance.is(weather.answerIsLost)) return answer(() => reject(new ConnectionLost()))
        world.trace(process.name, `${what}: ${JSON.stringify(result) ?? 'done'}`.slice(0, 300))
        answer(() => resolve(result))
      })
    })
  }

  return {
    async acquireSession(listener) {
      if (engine === 'postgres') leave = await claimer.join(listener)
    },
    subscribersDue: (now, after) => {
      const id = engine === 'sqlite' ? undefined : claimer.id
      return call('due', () => tables.due(now, after, id, subscribersPerScan))
    },
    async claim(subscriberIds) {
      if (engine === 'sqlite') return [...subscriberIds]
      const { id } = claimer
      return call('take', () => tables.take(subscriberIds, id))
    },
    async release(subscriberIds) {
      if (engine === 'sqlite') return
      const { id } = claimer
      return call('release', () => tables.release(subscriberIds, id))
    },
    activeSubscribers: (ids) =>
      call('subscribers', () =>
        ids
          .map((id) => tables.subscribers.get(id)!)
          .filter(({ status }) => status === 'active')
          .map((row) => ({ id: row.id, updated_at: row.updatedAt }) as Row<'subscribers'>),
      ),
    readDue: (wanted, now) => call('read', () => tables.read(wanted, now)),
    readPayloads: (events) =>
      call(
        'payloads',
        () => new Map(events.map((event): [number, EventPayload] => [event, payloadOf(event)])),
      ),
    complete: (completions) => call('complete', () => tables.complete(completions, time.now)),
    completeWithin: () => Promise.reject(new Error('nothing follows here')),
    leaseValid: () => engine === 'sqlite' || claimer.isLeaseValid,
    releaseSession: async () => leave?.(true),
    oldestDue: () => Promise.resolve(undefined),
  }
}

export function payloadOf(event: number): EventPayload {
  return {
    event_id: `e${event}`,
    type: 'a',
    payload: Buffer.from(`${event}`),
    audience: null,
    nonce: event,
    headers: null,
  }
}
