import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { Chance } from '../harness/chance.ts'
import { type Engine, type Receiver, startReceiver, startTestService } from '../harness/index.ts'

/** Seconds. Nobody answers slower than that but who never does. */
export const environment = {
  ALLOW_PRIVATE_NETWORK: 'true',
  EMIT_TIMEOUT: '1',
  EMIT_RETRY_SCHEDULE: '0,0.05,0.2,0.5',
}
/** Attempts of the schedule. */
export const mostAttempts = 4

/** A call as it came, and how it was answered: 0 is not at all, or to nobody, whose process was killed. */
export interface AnsweredCall {
  /** As `performance.now` has it. */
  at: number
  eventId: string
  status: number
}

export interface CalledSubscriber {
  name: string
  id: string
  ordered: boolean
  calls: AnsweredCall[]
}

interface Manner {
  settings?: object
  /** The status of an answer, and milliseconds until it is given. */
  answer: (chance: Chance) => { status: number; after: number }
}

/** Each answers in its own way. The ordered one takes its time, so that kills fall into it; the breaker opens for none. */
const manners: Record<string, Manner> = {
  quick: { answer: () => ({ status: 204, after: 0 }) },
  slow: { answer: (chance) => ({ status: 204, after: 30 * chance.next() }) },
  flaky: { answer: (chance) => ({ status: chance.is(0.7) ? 204 : 503, after: 5 }) },
  hanging: { answer: (chance) => ({ status: chance.is(0.97) ? 204 : 0, after: 2 }) },
  refusing: { answer: (chance) => ({ status: chance.is(0.5) ? 422 : 204, after: 2 }) },
  ordered: {
    settings: { ordered: true },
    answer: (chance) => ({ status: chance.is(0.9) ? 204 : 500, after: 3 }),
  },
  // Of the deliveries to the others that are given up.
  admins: {
    settings: { operational: true, eventTypes: ['delivery.dead'] },
    answer: () => ({ status: 204, after: 1 }),
  },
}

export interface Subscribers extends AsyncDisposable {
  all: CalledSubscriber[]
}

/** Subscribes all of them, over a process that does nothing else. */
export async function subscribeAll(
  engine: Engine,
  databaseUrl: string,
  chance: Chance,
): Promise<Subscribers> {
  const receivers: Receiver[] = []
  const all: CalledSubscriber[] = []
  const service = await startTestService(engine, {
    databaseUrl,
    env: environment,
    parts: { roles: { http: true, workers: false } },
  })
  for (const [name, { answer, settings = {} }] of Object.entries(manners)) {
    const calls: AnsweredCall[] = []
    const receiver = await startReceiver((response, { headers }) => {
      const { status, after } = answer(chance)
      const call = { at: performance.now(), eventId: String(headers['webhook-id']), status: 0 }
      calls.push(call)
      if (status !== 0) setTimeout(() => give(response, call, status), after)
    })
    receivers.push(receiver)
    const json = { url: receiver.url, description: name, ...settings }
    const made = await service.admin('/subscribers', { method: 'POST', json })
    assert.equal(made.status, 201)
    const { id } = (await made.json()) as { id: string }
    all.push({ name, id, calls, ordered: name === 'ordered' })
  }
  await service.close()
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const receiver of receivers) await receiver.close()
    },
  }
}

function give(response: ServerResponse, call: AnsweredCall, status: number): void {
  if (response.destroyed) return
  call.status = status
  response.writeHead(status).end()
}
