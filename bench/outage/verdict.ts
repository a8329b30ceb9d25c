import { availableParallelism } from 'node:os'
import type { Drain, Outcome } from './phases.ts'

/** Events a second that are to leave the spool. */
const bound = 5_000

const rateOf = ({ spooled, seconds }: Drain): number => spooled / seconds

/** What is not as promised. */
export function faultsOf({ drain, refused, checked }: Outcome): string[] {
  const { lostEvents, lostEffects, doubledEvents, doubledEffects, examples } = checked
  const faults: string[] = []
  if (lostEvents + lostEffects > 0)
    faults.push(
      `${lostEvents} events and ${lostEffects} effects are lost, such as those of ${examples.join(', ')}`,
    )
  if (doubledEvents + doubledEffects > 0)
    faults.push(`${doubledEvents} events and ${doubledEffects} effects are doubled`)
  if (Object.keys(refused).length > 0) faults.push(`not acknowledged: ${JSON.stringify(refused)}`)
  if (rateOf(drain) < bound)
    faults.push(`${rateOf(drain).toFixed(0)} events a second left the spool, fewer than ${bound}`)
  return faults
}

export function describe({ plan, drain, handledAfter, memory, checked }: Outcome): string {
  const { spooled, seconds, live, p50, p99, posternCpu, postgresCpu, loadBefore, loadAfter } = drain
  const perEvent = (cpu: number): string => `${((cpu / (spooled + live)) * 1e6).toFixed(0)} µs`
  return [
    `${plan.minutes} min without a database at ${plan.rate} webhooks a second of ${plan.bytes} bytes`,
    `acknowledged: ${checked.acknowledged}; lost: ${checked.lostEvents} events, ${checked.lostEffects} effects; doubled: ${checked.doubledEvents} events, ${checked.doubledEffects} effects`,
    `drain: ${spooled} events in ${seconds.toFixed(1)} s, ${rateOf(drain).toFixed(0)} a second, beside ${(live / seconds).toFixed(0)} live a second (p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms)`,
    `CPU of the drain and the live webhooks, for each: Postern ${perEvent(posternCpu)}, PostgreSQL ${perEvent(postgresCpu)}; in all ${((posternCpu + postgresCpu) / seconds).toFixed(2)} of ${availableParallelism()} cores; load of the machine before and after it: ${loadBefore.toFixed(1)}, ${loadAfter.toFixed(1)}`,
    `all ${plan.handled ? 'handled' : 'stored'} ${handledAfter.toFixed(1)} s after the spool was empty; most memory of the service: ${memory.toFixed(0)} MB`,
  ].join('\n')
}
