import type { Tx } from '../../storage/database.ts'
import type { Activity, Companion } from '../activity/activity.ts'
import { fingerprintOf, type Fingerprint } from './fingerprint.ts'

/** Puts failures into groups. */
export interface FailureTally {
  /** Makes sure that the group of a failure is stored when the transaction commits. Returns it. */
  enter(tx: Tx, handler: string, error: unknown, now: number): Promise<Fingerprint | undefined>
  /** Counts a failure whose transaction has committed. */
  count(group: Fingerprint, now: number): void
}

/** For where failures have no groups. */
export const withoutGroups: FailureTally = { enter: () => Promise.resolve(undefined), count: () => undefined }

/** Groups that this process has stored, of which it need not insert the row. */
const mostKnown = 2_000

interface Waiting {
  readonly group: Fingerprint
  count: number
  firstAt: number
  lastAt: number
}

/**
 * Counts failures by their groups. The first failure of a group inserts its row in the transaction that records the failure; counts and
 * times follow once a second, so that many failures at once do not wait for one row (docs/adr/0045-failure-groups.md).
 */
export class FailureGroups implements FailureTally, Companion {
  readonly #activity: Activity
  readonly #retention: number
  readonly #known = new Set<string>()
  #waiting = new Map<string, Waiting>()
  #written: readonly Waiting[] = []

  /** @param retention milliseconds after the last failure; Infinity: for ever */
  constructor(activity: Activity, retention: number) {
    this.#activity = activity
    this.#retention = retention
    activity.join(this)
  }

  async enter(tx: Tx, handler: string, error: unknown, now: number): Promise<Fingerprint> {
    const group = fingerprintOf(handler, error)
    if (!this.#known.has(group.id))
      await tx
        .insertInto('failure_groups')
        .values({ ...group, first_at: now, last_at: now, count: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
    return group
  }

  count(group: Fingerprint, now: number): void {
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.add(group.id)
    this.#activity.of('failure', group.id, 'failed').add()
    this.#add({ group, count: 1, firstAt: now, lastAt: now })
    this.#activity.schedule()
  }

  get pending(): boolean {
    return this.#waiting.size > 0
  }

  async write(tx: Tx): Promise<void> {
    this.#written = [...this.#waiting.values()].toSorted((a, b) => (a.group.id < b.group.id ? -1 : 1))
    this.#waiting = new Map()
    for (const one of this.#written) await addToGroup(tx, one)
  }

  undo(): void {
    for (const one of this.#written) this.#add(one)
    this.#written = []
  }

  async purge(tx: Tx, now: number): Promise<void> {
    if (this.#retention === Infinity) return
    await tx
      .deleteFrom('failure_groups')
      .where('last_at', '<', now - this.#retention)
      .execute()
    this.#known.clear()
  }

  #add(more: Waiting): void {
    const known = this.#waiting.get(more.group.id)
    if (!known) return void this.#waiting.set(more.group.id, { ...more })
    known.count += more.count
    known.firstAt = Math.min(known.firstAt, more.firstAt)
    known.lastAt = Math.max(known.lastAt, more.lastAt)
  }
}

async function addToGroup(tx: Tx, { group, count, firstAt, lastAt }: Waiting): Promise<void> {
  await tx
    .insertInto('failure_groups')
    .values({ ...group, first_at: firstAt, last_at: lastAt, count })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        count: eb('failure_groups.count', '+', count),
        last_at: eb
          .case()
          .when('failure_groups.last_at', '>', lastAt)
          .then(eb.ref('failure_groups.last_at'))
          .else(lastAt)
          .end(),
      })),
    )
    .execute()
}
