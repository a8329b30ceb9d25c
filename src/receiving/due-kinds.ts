import type { InboxStore, Kind, PendingKind } from './store.ts'
import type { PlanOf } from './plan.ts'

/** Kinds that one question asks for: senders choose the types, so there may be any number of them. */
export const perRound = 100
/** Questions at most for one look at all of them. */
const mostPages = 100
export const beforeAll: Kind = { source: '', type: '' }

/** The next kinds in turn, from the beginning again behind the last one. */
export async function nextKinds(store: InboxStore, after: Kind, now: number): Promise<PendingKind[]> {
  const first = await store.pendingKinds(beforeAll, perRound, now)
  if (first.length === 0 || after === beforeAll) return first
  // Few kinds are all in one answer. The order is the database's own, so it is not compared here.
  const place = first.findIndex((kind) => keyOf(kind) === keyOf(after))
  if (first.length < perRound && place >= 0) return [...first.slice(place + 1), ...first.slice(0, place + 1)]
  const kinds = await store.pendingKinds(after, perRound, now)
  const seen = new Set(kinds.map(keyOf))
  return [...kinds, ...first.filter((kind) => !seen.has(keyOf(kind)))].slice(0, perRound)
}

/**
 * By group, since when its oldest event has been due: for metrics of all groups, and for readiness of those that nobody
 * works on. A slow handler holds up its own events, which is no reason to take the service away from all others.
 */
export async function oldestByGroup(
  store: InboxStore,
  planOf: PlanOf,
  now: number,
  { idle }: { idle: boolean },
): Promise<Map<string, number>> {
  const oldest = new Map<string, number>()
  const atWork = new Set<string>()
  let after = beforeAll
  for (let page = 0; page < mostPages; page += 1) {
    const kinds = await store.pendingKinds(after, perRound, now)
    for (const { source, type, dueAt } of kinds) {
      const group = planOf(source, type).group.key
      if (dueAt <= now) oldest.set(group, Math.min(dueAt, oldest.get(group) ?? dueAt))
    }
    if (idle) {
      for (const { source, type } of await store.kindsAtWork(kinds, now))
        atWork.add(planOf(source, type).group.key)
    }
    if (kinds.length < perRound) break
    after = kinds.at(-1)!
  }
  for (const group of atWork) oldest.delete(group)
  return oldest
}

function keyOf({ source, type }: Kind): string {
  return `${source} ${type}`
}
