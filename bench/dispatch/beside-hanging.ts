import { setTimeout as wait } from 'node:timers/promises'
import { remove, subscribe } from '../deliver/subscribers.ts'
import { scaled, type Scale } from '../measure/bench.ts'
import { percentile } from '../measure/statistics.ts'
import { delaysOf, type Dispatching } from './delays.ts'

/** A tenth of them hangs, or answers as the others do. */
export const subscribers = 20
const steady = (subscribers * 9) / 10
const others = subscribers - steady
/** Attempts at a time that each has by default. */
const concurrency = 10
/** Milliseconds from one event to the next: a tenth of what is possible, or less. */
const every = 20
/**
 * Events of a round: a second. The slowest hundredth of its deliveries is mostly those of one event, so that one moment in
 * which the disk stands still is the p99 of its round; short ones, and many, are mostly without.
 */
const events = 50
/** Pairs of rounds, of each round that is asked for. */
const pairs = 8
/** Milliseconds for what a round has left to end. */
const calm = 200

type Kind = 'healthy' | 'hang'
const kinds: readonly Kind[] = ['healthy', 'hang']

/** Milliseconds of the p99 to the same healthy subscribers, of each round: with a tenth that answers, and with one that hangs. */
export type Beside = Record<Kind, number[]>

/**
 * Short rounds in pairs, in which the other tenth answers, or never does; which of the two is first changes from pair to
 * pair. The other tenth is new in each round: of hanging ones the first attempts, all that are allowed at a time, are
 * under way before the round begins, and still are when it has ended.
 */
export async function besideHanging(
  side: Dispatching,
  secret: string,
  scale: Scale,
  step: (round: number) => void,
): Promise<Beside> {
  const { postern, sink, origin } = side
  const paths = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => `/${name}-${index}`)
  await subscribe(postern.port, origin, paths(steady, 'steady'), secret, ['beside.*'])

  async function round(name: string, kind: Kind): Promise<number> {
    const type = `beside.${kind}`
    const ids = await subscribe(postern.port, origin, paths(others, `${kind}-${name}`), secret, [type])
    const arrivals = kind === 'hang' ? steady : subscribers
    await delaysOf(side, arrivals, { count: concurrency, every, prefix: `first-${name}-${kind}`, type })
    const paced = { count: scaled(events, scale), every, prefix: `${name}-${kind}`, type }
    const { delays, hanging } = await delaysOf(side, arrivals, paced, '/steady')
    const wanted = kind === 'hang' ? others * concurrency : 0
    if (hanging !== wanted) throw new Error(`${hanging} attempts hung instead of ${wanted}`)
    if (delays.length !== steady * paced.count) throw new Error(`${delays.length} deliveries were timed`)
    await remove(postern.port, ids)
    await sink.ask({ distinct: 0, limit: 0, release: true })
    await wait(calm)
    return percentile(delays, 0.99)
  }

  const result: Beside = { healthy: [], hang: [] }
  for (const kind of kinds) await round('warm-up', kind)
  for (let asked = 0; asked < scale.rounds; asked += 1) {
    step(asked)
    for (let pair = 0; pair < pairs; pair += 1)
      for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed())
        result[kind].push(await round(`${asked}-${pair}`, kind))
  }
  return result
}
