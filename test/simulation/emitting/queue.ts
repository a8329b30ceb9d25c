import { subscribersPerLook, type DeliveryQueue, type Payload } from '../../../src/emitting/store.ts'
import type { SubscribersTable } from '../../../src/storage/tables.ts'
import type { Claimer } from '../../../src/storage/postgres/claimer.ts'
import { ConnectionLost, latency, StatementFailed } from '../receiving/faults.ts'
import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { World } from './world.ts'

/** One process's side of the queue: everything takes its time, fails before or behind its commit, or loses its answer. */
export function simulatedQueue(world: World, process: VirtualProcess, claimer: Claimer): DeliveryQueue {
  const { tables, chance, time, engine } = world

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
    async attend(listener) {
      if (engine === 'postgres') await claimer.start(listener)
    },
    due: (now, after) => {
      const id = engine === 'sqlite' ? undefined : claimer.id
      return call('due', () => tables.due(now, after, id, subscribersPerLook))
    },
    async take(subscriberIds) {
      if (engine === 'sqlite') return [...subscriberIds]
      const { id } = claimer
      return call('take', () => tables.take(subscriberIds, id))
    },
    async release(subscriberIds) {
      if (engine === 'sqlite') return
      const { id } = claimer
      return call('release', () => tables.release(subscriberIds, id))
    },
    subscribers: (ids) =>
      call('subscribers', () =>
        ids
          .map((id) => tables.subscribers.get(id)!)
          .filter(({ status }) => status === 'active')
          .map((row) => ({ id: row.id, updated_at: row.updatedAt }) as SubscribersTable),
      ),
    read: (wanted, now) => call('read', () => tables.read(wanted, now)),
    payloads: (events) =>
      call('payloads', () => new Map(events.map((event): [number, Payload] => [event, payloadOf(event)]))),
    complete: (completions) => call('complete', () => tables.complete(completions, time.now)),
    completeWithin: () => Promise.reject(new Error('nothing follows here')),
    sure: () => engine === 'sqlite' || claimer.sure,
    leave: () => claimer.close(),
    oldestDue: () => Promise.resolve(undefined),
  }
}

export function payloadOf(event: number): Payload {
  return { event_id: `e${event}`, type: 'a', payload: Buffer.from(`${event}`), audience: null, nonce: event }
}
