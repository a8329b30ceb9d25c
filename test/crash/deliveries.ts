import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { maxUnrecorded } from '../../src/emitting/dispatch/dispatcher.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { Chance } from '../harness/chance.ts'
import { adminKey, type Engine } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { Callers } from './callers.ts'
import type { CampaignOptions } from './campaign.ts'
import { Processes } from './processes.ts'
import { Progress, tallyOfDeliveries } from './progress.ts'
import { environment, mostAttempts, subscribeAll, type CalledSubscriber } from './subscribers.ts'

export interface DeliveryCampaign {
  kills: number
  /** Events whose emission was answered with 202. */
  accepted: number
  /** Calls that were answered with 408 or 5xx. */
  refused: number
  delivered: number
  dead: number
  calls: number
  /** Calls that were not written down, and those of them behind one that was answered with 204. */
  again: number
  againAfterSuccess: number
}

/** Deliveries that are left at which the callers pause. */
const mostLeft = 1_500
const longestStandstill = 120_000
/** Milliseconds by which a call may be seen after the kill of who sent it. */
const seenLate = 5_000

/**
 * Kills processes of the service at random moments while events are emitted and delivered, and then looks whether each
 * accepted event came to each subscriber or was given up, in their order where that is asked for, and came again only as
 * far as the kills explain.
 * @throws AssertionError
 */
export async function deliveryCampaign(
  engine: Engine,
  { kills, processes: places, seed, onKill }: CampaignOptions,
): Promise<DeliveryCampaign> {
  const home = await engine.createDatabase()
  const chance = new Chance(seed)
  const database = await openDatabase(home.url)
  let callers: Callers | undefined
  let progress: Progress | undefined
  const counts = {
    acknowledged: () => callers?.accepted.size ?? 0,
    ended: () => progress?.ended ?? 0,
  }
  const processes = new Processes(home.url, chance, counts, { ...environment, ADMIN_API_KEY: adminKey })
  try {
    await migrate(database)
    await using subscribers = await subscribeAll(engine, home.url, chance)
    const looking = (progress = new Progress(() => tallyOfDeliveries(database)))
    const calling = (callers = new Callers(
      6,
      chance,
      () => processes.addresses,
      () => looking.left > mostLeft,
    ))
    try {
      await processes.killUntil(kills, places, () => onKill?.(processes.kills))
      const before = calling.accepted.size
      await eventually(() => calling.accepted.size > before + 30, 'events are accepted', longestStandstill)
    } finally {
      await calling.end()
    }
    await rest(looking)
    const outcome = await check(database, subscribers.all, calling.accepted, processes.killedAt)
    assert.ok(
      outcome.again <= processes.kills * maxUnrecorded,
      `${outcome.again} attempts were never written down, in ${processes.kills} kills`,
    )
    const { accepted, refused } = calling
    return { kills: processes.kills, accepted: accepted.size, refused, ...outcome }
  } finally {
    progress?.stop()
    await processes.end()
    await database.close()
    await home.drop()
  }
}

/** Resolves when nothing is left, however long that takes. @throws Error when nothing is done for two minutes */
async function rest(progress: Progress): Promise<void> {
  // What was counted last may be from before the last event.
  for (let counted = 0; counted < 3; await wait(150)) {
    const { ended } = progress
    if (progress.left === 0) counted += 1
    else
      await eventually(
        () => progress.ended > ended || progress.left === 0,
        `one of ${progress.left} deliveries ends`,
        longestStandstill,
      )
  }
}

async function check(
  database: Database,
  subscribers: readonly CalledSubscriber[],
  accepted: ReadonlySet<string>,
  killedAt: readonly number[],
): Promise<Omit<DeliveryCampaign, 'kills' | 'accepted' | 'refused'>> {
  const rows = await database.reader
    .selectFrom('deliveries as d')
    .innerJoin('events as e', 'e.id', 'd.event')
    .select(['d.id', 'd.subscriber_id', 'd.status', 'd.attempts', 'e.event_id'])
    .select((eb) =>
      eb
        .selectFrom('attempts as a')
        .whereRef('a.delivery', '=', 'd.id')
        .select((all) => all.fn.countAll<number>().as('count'))
        .as('shown'),
    )
    .select((eb) =>
      eb
        .selectFrom('attempts as a')
        .whereRef('a.delivery', '=', 'd.id')
        .where('a.status', 'is', null)
        .select((all) => all.fn.countAll<number>().as('count'))
        .as('unanswered'),
    )
    .orderBy('d.id')
    .execute()
  const total = { delivered: 0, dead: 0, calls: 0, again: 0, againAfterSuccess: 0 }
  const dead = new Set<number>()
  for (const { id, name, ordered, calls } of subscribers) {
    const own = rows.filter((row) => row.subscriber_id === id)
    const came = Map.groupBy(calls, ({ eventId }) => eventId)
    if (name !== 'admins') {
      const made = new Set(own.map(({ event_id }) => event_id))
      assert.deepEqual([...accepted.difference(made)], [], `each accepted event has a delivery to ${name}`)
      assert.equal(own.length, made.size, `no event has two deliveries to ${name}`)
    }
    for (const row of own) {
      const what = `${row.event_id} to ${name}, which is ${row.status} after ${row.attempts} attempts`
      const these = came.get(row.event_id) ?? []
      const first = these.findIndex(({ status }) => status === 204)
      // Of those without an answer, some never got as far as the subscriber.
      const unanswered = row.unanswered ?? 0
      assert.ok(these.length >= row.attempts - unanswered, `${what}, came ${these.length} times`)
      assert.equal(row.shown, row.attempts, `each attempt of ${what} is shown`)
      if (row.status === 'delivered') assert.notEqual(first, -1, `${what} was answered with 204`)
      else {
        assert.equal(row.status, 'dead', what)
        assert.equal(row.attempts, mostAttempts, what)
        if (name !== 'admins') dead.add(row.id)
      }
      total[row.status] += 1
      total.again += Math.max(0, these.length - row.attempts)
      if (first !== -1) total.againAfterSuccess += these.length - 1 - first
      // Followed by another call, though nobody was killed between.
      const unexplained = these.filter(({ at, status }, index) => {
        const next = these[index + 1]
        if (status !== 204 || !next) return false
        return !killedAt.some((kill) => kill >= at - seenLate && kill <= next.at)
      })
      // An answer that came too late, as on a machine that stalls, does not count.
      const excused = row.unanswered ?? 0
      assert.ok(
        unexplained.length <= excused,
        `${what}, came again behind its success, and nobody was killed`,
      )
    }
    total.calls += calls.length
    if (ordered) checkOrder(own, calls)
  }
  await checkTold(database, dead)
  return total
}

/** None came once more, or for the first time, when a later one had come. */
function checkOrder(
  rows: readonly { id: number; event_id: string }[],
  calls: readonly { eventId: string }[],
): void {
  const ids = new Map(rows.map(({ id, event_id }) => [event_id, id]))
  const order = calls.map(({ eventId }) => ids.get(eventId)!)
  const wrong = order.findIndex((id, index) => index > 0 && id < order[index - 1]!)
  assert.equal(wrong, -1, `delivery ${order[wrong]} came behind delivery ${order[wrong - 1]}`)
}

/** That each dead letter was told, once. */
async function checkTold({ reader }: Database, dead: ReadonlySet<number>): Promise<void> {
  const events = await reader
    .selectFrom('events')
    .select('payload')
    .where('type', '=', 'delivery.dead')
    .execute()
  const told = events.map(({ payload }) => {
    const { data } = JSON.parse(Buffer.from(payload).toString()) as { data: { delivery: { id: number } } }
    return data.delivery.id
  })
  assert.deepEqual(
    told.toSorted((a, b) => a - b),
    [...dead].toSorted((a, b) => a - b),
    'each dead letter is told once',
  )
}
