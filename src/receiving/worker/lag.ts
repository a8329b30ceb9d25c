import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Pauses } from '../handlers/paused.ts'
import type { Plan, PlanOf } from '../handlers/plan.ts'
import type { EventQueue } from '../queue/store.ts'
import { pagesOfKinds } from './due-kinds.ts'
import { unhandledWait } from './unhandled.ts'

/** The most queries for reading all kinds. */
const mostPages = 100

export interface LagParts {
  store: EventQueue
  clock: Clock
  planOf: PlanOf
}

/** Measures how long due events have waited, by group. */
export function measureLag({ metrics, clock, store, planOf }: LagParts & { metrics: Metrics }): void {
  metrics.gauge(
    'postern_handler_lag_seconds',
    'Age of the oldest event that is due, by source and handler',
    ['group'],
    async (gauge) => {
      gauge.reset()
      const now = clock.now()
      for (const [group, dueAt] of await oldestByGroup(store, planOf, now, { idle: false }))
        gauge.set({ group }, (now - dueAt) / 1000)
    },
  )
}

/** When the oldest event became due that no handler runs and that does not wait on purpose; undefined without one. */
export async function oldestWaiting({
  store,
  clock,
  planOf,
  pauses,
}: LagParts & { pauses: Pauses }): Promise<number | undefined> {
  await pauses.refresh()
  const isPaused = (plan: Plan): boolean => pauses.isPaused(plan)
  const oldest = await oldestByGroup(store, planOf, clock.now(), { idle: true, isPaused })
  return oldest.size === 0 ? undefined : Math.min(...oldest.values())
}

/**
 * When the oldest event of each group became due.
 * @param options.idle leaves out groups with running handlers: a slow handler must not make the service count as not ready
 * @param options.isPaused leaves out plans whose events wait on purpose
 */
async function oldestByGroup(
  store: EventQueue,
  planOf: PlanOf,
  now: number,
  { idle, isPaused = () => false }: { idle: boolean; isPaused?: (plan: Plan) => boolean },
): Promise<Map<string, number>> {
  const oldest = new Map<string, number>()
  const atWork = new Set<string>()
  for await (const kinds of pagesOfKinds(store, now, mostPages)) {
    for (const { source, type, dueAt } of kinds) {
      const plan = planOf(source, type)
      const group = plan.group.key
      // Without a handler here, another process may have one: only afterwards does this process have to act.
      const since = plan.handlers.length > 0 ? dueAt : dueAt + unhandledWait
      if (since <= now && !isPaused(plan)) oldest.set(group, Math.min(since, oldest.get(group) ?? since))
    }
    if (idle) {
      for (const { source, type } of await store.kindsAtWork(kinds, now))
        atWork.add(planOf(source, type).group.key)
    }
  }
  for (const group of atWork) oldest.delete(group)
  return oldest
}
