import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registeredHandler, neverPaused } from '#test/harness/handled-events.ts'
import type { RegisteredHandler } from '../handlers/declared-handlers.ts'
import { plansOver } from '../handlers/plan.ts'
import type { ClaimedEvent, ClaimRequest, Kind } from '../queue/store.ts'
import { ClaimRounds, type ClaimRoundsParts } from './claim-rounds.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'

/** Rounds over kinds that always have due events. */
function roundsOver(types: readonly string[], handlersOf: (type: string) => readonly RegisteredHandler[]) {
  const planOf = plansOver('postgres', (_source, type) => handlersOf(type))
  const groups = new ConcurrencyGroups()
  const claimed: string[] = []
  const running: string[] = []
  const nothing = (): void => undefined
  const store = {
    newClaim: () => 'claim',
    pendingKinds: async (after: Kind, limit: number) =>
      types
        .filter((type) => type > after.type)
        .slice(0, limit)
        .map((type) => ({ source: 'shop', type, dueAt: 0 })),
    claim: async (wanted: readonly ClaimRequest[]) =>
      wanted.flatMap(({ source, type, count }) =>
        Array.from({ length: count }, () => ({ source, type, payload: Buffer.alloc(0) })),
      ),
  }
  const runner = {
    free: 100,
    isScarce: false,
    enqueue(events: readonly ClaimedEvent[]) {
      for (const one of events) {
        const plan = planOf(one.source, one.type)
        groups.queue({ claimed: one, plan, claimedAt: 0 })
        if (!groups.takeNext(plan, false)) continue
        claimed.push(one.type)
        running.push(one.type)
      }
    },
  }
  const rounds = new ClaimRounds({
    store,
    planOf,
    groups,
    runner,
    pauses: neverPaused,
    suspects: { excludes: () => false },
    clock: { now: () => 0 },
    claims: { voided: 0 },
    wakeUps: { in: nothing },
  } as unknown as ClaimRoundsParts)
  const end = (which: (type: string) => boolean): void => {
    for (const type of running.splice(0)) {
      if (which(type)) groups.freeSlot(planOf('shop', type))
      else running.push(type)
    }
  }
  return { rounds, claimed, end }
}

const one = { concurrency: 1 }

for (const [what, concurrencyOf] of [
  ['kinds of one group', () => [registeredHandler('kind.*', one)]],
  ['groups of one bound', (type: string) => [registeredHandler(type), registeredHandler('*', one)]],
] as const)
  test(`${what} take turns, also while other kinds are claimed`, async () => {
    const other = [registeredHandler('other')]
    const handlers = new Map(['kind.a', 'kind.b', 'kind.c'].map((type) => [type, concurrencyOf(type)]))
    if (what === 'kinds of one group')
      for (const type of handlers.keys()) handlers.set(type, handlers.get('kind.a')!)
    const { rounds, claimed, end } = roundsOver(
      ['kind.a', 'kind.b', 'kind.c', 'other'],
      (type) => handlers.get(type) ?? other,
    )
    for (let turn = 0; turn < 6; turn += 1) {
      // The slot is free, and is taken; then others come and go.
      for (let round = 0; round < 3; round += 1) {
        await rounds.next()
        end((type) => type === 'other')
      }
      end(() => true)
    }
    assert.deepEqual(
      claimed.filter((type) => type !== 'other'),
      ['kind.a', 'kind.b', 'kind.c', 'kind.a', 'kind.b', 'kind.c'],
    )
  })
