import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from '../../harness/chance.ts'
import { adminKey, webhookSecret } from '../postern/keys.ts'
import { sign } from '../../receiving/harness.ts'
import { now } from '../now.ts'
import { tenants, type Item, type Manner, type Work } from './item.ts'
import { whyOf, type Demands } from './demands.ts'
import type { Ledger } from './ledger.ts'

export interface SendersParts {
  ledger: Ledger
  demands: Demands
  chance: Chance
  /** Base URLs of the processes that are there. */
  addresses: () => string[]
  /** Requests a second, of both kinds together. */
  rate: number
}

const senders = 16
/** Milliseconds that a sender waits for an answer. */
const patience = 12_000
/** Acknowledged items without an effect at which senders pause: this is no test of how much is done in a second. */
const mostOutstanding = 3_000
const keys = ['a', 'b', 'c', 'd']

/** Sends signed webhooks and emits events, each again and again until it is acknowledged. */
export class Senders {
  /** Answers by their status; 0 counts requests without an answer. */
  readonly answers = new Map<number, number>()
  readonly #parts: SendersParts
  readonly #running: Promise<void>[]
  #ended = false
  /** What each handler does besides, from now on. */
  manner: Manner | undefined
  /** Requests without an acknowledgement in sequence. */
  refused = 0

  constructor(parts: SendersParts) {
    this.#parts = parts
    this.#running = Array.from({ length: senders }, () => this.#send())
  }

  /** How many requests were acknowledged. */
  get accepted(): number {
    return (this.answers.get(200) ?? 0) + (this.answers.get(202) ?? 0)
  }

  async end(): Promise<void> {
    this.#ended = true
    await Promise.all(this.#running)
  }

  async #send(): Promise<void> {
    const { ledger, chance, rate } = this.#parts
    const pause = (senders / rate) * 1000
    while (!this.#ended) {
      await wait(pause * (0.5 + chance.next()))
      if (ledger.outstanding.size > mostOutstanding) continue
      const tenant = chance.pick(tenants)
      const item = ledger.open(chance.is(0.6) ? 'webhook' : 'event', tenant)
      const work = item.kind === 'webhook' ? this.#work(item) : undefined
      // Some senders give up soon, and nobody has promised them anything.
      const tries = chance.is(0.1) ? 2 : 500
      for (let attempt = 0; attempt < tries && !this.#ended; attempt += 1) {
        if (await this.#request(item, work)) {
          ledger.acknowledge(item, work)
          break
        }
        await wait(100 + 400 * chance.next())
      }
      if (chance.is(0.1)) await this.#request(item, work)
    }
  }

  #work({ content }: Item): Work {
    const { chance } = this.#parts
    const { manner } = this
    // A run that reaches its limit does so by its statement alone.
    const lasts = chance.is(0.1) && manner !== 'sleeps' ? 200 + chance.below(1_800) : 0
    const isOrdered = chance.is(0.2)
    // Only unordered ones have the limit that a run without an end is to reach.
    const key = isOrdered && manner !== 'sleeps' ? chance.pick(keys) : undefined
    return {
      ...content,
      lasts: key ? 0 : lasts,
      follow: chance.is(0.3),
      ...(key && { key }),
      ...(manner && { manner }),
    }
  }

  async #request(item: Item, work: Work | undefined): Promise<boolean> {
    const { addresses, chance, demands } = this.#parts
    const there = addresses()
    if (there.length === 0) return false
    const { path, headers, body } = work ? webhook(item, work) : emit(item)
    const beganAt = now()
    let status = 0
    let why: string
    try {
      const response = await fetch(new URL(path, chance.pick(there)), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: AbortSignal.timeout(patience),
      })
      await response.arrayBuffer()
      status = response.status
      why = `${status}`
    } catch (error) {
      // Killed, stopped or cut off on the way: it was not acknowledged.
      status = 0
      why = whyOf(error)
    }
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1)
    const good = status === 200 || status === 202
    if (!good) demands.failed(item.kind, beganAt, why)
    this.refused = good ? 0 : this.refused + 1
    return good
  }
}

interface Request {
  path: string
  headers: Record<string, string>
  body: string
}

function webhook({ id }: Item, work: Work): Request {
  const free = work.manner === 'sleeps' ? 'chaos.sleeping' : 'chaos.free'
  const type = work.key === undefined ? free : 'chaos.ordered'
  const body = JSON.stringify({ id, type, data: work })
  return { path: '/webhooks/provider', headers: { 'x-signature': sign(body, webhookSecret) }, body }
}

function emit({ id, content }: Item): Request {
  const body = JSON.stringify({ id, type: 'chaos.emitted', audience: content.tenant, data: content })
  return { path: '/events', headers: { authorization: `Bearer ${adminKey}` }, body }
}
