import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptResult } from '../attempt/attempt.ts'
import type { SideEffects } from './completions.ts'
import type { Endpoint } from './endpoints.ts'
import { Dispatcher, maxUnrecorded } from './dispatcher.ts'
import type { Completion, DeliveryStore, ReadRequest } from '../store.ts'

const answer: AttemptResult = {
  at: 0,
  durationMs: 1,
  status: 204,
  error: null,
  failure: null,
  phases: null,
  requestHeaders: '{}',
  responseHeaders: null,
  responseBody: null,
}

/** A dispatcher of one subscriber that has so many deliveries. Nothing is written down until it is let. */
function dispatching(
  deliveries: number,
  { following, due = ['s'] }: { following?: SideEffects; due?: readonly string[] } = {},
) {
  const writes: (() => void)[] = []
  const attempted: number[] = []
  let told: (id: string) => void = () => assert.fail('it does not listen')
  const rows = Array.from({ length: deliveries }, (_, index) => ({ id: index + 1, dueAt: 0 }))
  const write = <T>(done: T): Promise<T> => new Promise((resolve) => writes.push(() => resolve(done)))
  const idsOf = (completions: readonly Completion[]) => completions.map(({ delivery }) => delivery.id)
  const remove = (ids: readonly number[]): void => {
    for (const id of ids) rows[id - 1]!.dueAt = Infinity
  }
  const store: Partial<DeliveryStore> = {
    acquireSession: async () => undefined,
    subscribersDue: async () => ({ ids: [...due], next: undefined }),
    claim: async (ids) => [...ids],
    activeSubscribers: async () => [{ id: 's' } as never],
    readDue: async ([wanted]) => {
      const { behind, count, retries } = wanted as Exclude<ReadRequest, { ordered: true }>
      const left = retries ? [] : rows.filter(({ id, dueAt }) => dueAt === 0 && id > behind.id)
      return left
        .slice(0, count)
        .map(({ id }) => ({ id, event: id, subscriberId: 's', number: 1, begun: 1, dueAt: 0, nonce: id }))
    },
    readPayloads: async (events) =>
      new Map(
        events.map((event) => [
          event,
          {
            event_id: `e-${event}`,
            type: 'a',
            payload: Buffer.from('{}'),
            audience: null,
            nonce: event,
            headers: null,
          },
        ]),
      ),
    complete: (completions) => write(undefined).then(() => remove(idsOf(completions))),
    completeWithin: (_tx, completions) =>
      write(new Set(idsOf(completions))).then((ids) => {
        remove([...ids])
        return ids
      }),
    leaseValid: () => true,
  }
  const endpoint = {
    id: 's',
    concurrency: 100,
    ordered: false,
    target: {},
    owner: null,
    keysAt: () => [],
    schedule: [],
  }
  const dispatcher = new Dispatcher({
    database: {
      signal: () => undefined,
      onSignal: () => () => undefined,
      onSetBack: () => () => undefined,
      publish: () => undefined,
      onPublished: (topic, listener) => {
        if (topic === 'subscriber') told = listener
        return () => undefined
      },
      inBackground: (work) => work(undefined as never),
    },
    store: store as DeliveryStore,
    endpoints: { open: async () => endpoint as unknown as Endpoint },
    attempt: async ({ event }) => {
      attempted.push(Number(event.event_id.slice(2)))
      return answer
    },
    health: { record: () => undefined },
    operationalEvents: { sideEffects: () => following, publish: () => Promise.resolve() },
    metrics: { attempted: () => undefined },
    clock: { now: () => 0, after: () => () => undefined },
    random: Math.random,
    log: { error: assert.fail } as never,
    close: () => Promise.resolve(),
  })
  dispatcher.start()
  return {
    attempted,
    /** Lets everything go on until it waits for what is written. */
    rest: async (): Promise<void> => {
      for (let before = -1; before !== attempted.length;) {
        before = attempted.length
        for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
      }
    },
    write: () => writes.shift()!(),
    tell: (id: string) => told(id),
  }
}

test('unrecorded outcomes are bounded; sending continues when some are recorded', async () => {
  const { attempted, rest, write } = dispatching(2 * maxUnrecorded)
  await rest()
  assert.equal(attempted.length, maxUnrecorded)
  write()
  await rest()
  assert.ok(attempted.length > maxUnrecorded, 'it goes on')
  assert.equal(new Set(attempted).size, attempted.length, 'each once')
})

test("unrecorded outcomes with side effects are bounded by the subscriber's concurrency", async () => {
  const following: SideEffects = { apply: async () => [], onCommitted: () => undefined }
  const { attempted, rest, write } = dispatching(300, { following })
  await rest()
  assert.equal(attempted.length, 100)
  write()
  await rest()
  assert.ok(attempted.length > 100, 'it goes on')
})

test('the queue of a subscriber that another process resumed is acquired at once, before a poll finds it', async () => {
  const { attempted, rest, tell } = dispatching(3, { due: [] })
  await rest()
  assert.deepEqual(attempted, [])
  tell('s')
  await rest()
  assert.deepEqual(attempted, [1, 2, 3])
})
