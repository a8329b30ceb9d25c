import type { Selectable } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { BackchannelLogoutsTable } from '../../storage/tables.ts'

type Named = 'family_id' | 'user_id' | 'client_id' | 'uri' | 'algorithm'

/** A notice that this process sends. */
export interface ClaimedLogout extends Pick<Selectable<BackchannelLogoutsTable>, Named> {
  /** Failed ones. */
  attempts: number
}

/** Milliseconds that a claim lasts: longer than an attempt. */
const claimTime = 60_000
/** Milliseconds from each failed attempt to the next: five attempts within a quarter of an hour. */
const delays = [15_000, 60_000, 180_000, 600_000] as const

/** The notices of ended sign-ins that wait in the database. accounts/sessions/apps-of-sessions.ts inserts them. */
export class LogoutQueue {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /**
   * Claims due notices, the oldest first. Another process can claim them a minute later.
   * @param room how many to claim
   * @param busy apps that get no further notices now
   */
  async claim(room: number, busy: readonly string[]): Promise<ClaimedLogout[]> {
    const now = this.#clock.now()
    // Read first, so that an idle service writes nothing.
    const due = await dueLogouts(this.#database.reader, now, busy).limit(room).execute()
    if (due.length === 0) return []
    const ids = due.map(({ family_id }) => family_id)
    return this.#database.transaction(
      (tx) =>
        tx
          .updateTable('backchannel_logouts')
          .set({ claimed_until: now + claimTime })
          .where('family_id', 'in', ids)
          .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
          .returning(['family_id', 'user_id', 'client_id', 'attempts', 'uri', 'algorithm'])
          .execute(),
      { priority: 'work' },
    )
  }

  /** Removes a notice. @param work runs in the same transaction */
  async remove({ family_id }: ClaimedLogout, work?: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#database.transaction(
      async (tx) => {
        await tx.deleteFrom('backchannel_logouts').where('family_id', '=', family_id).execute()
        await work?.(tx)
      },
      { priority: 'work' },
    )
  }

  /** Puts a notice off to its next attempt. False when this was the last one: the notice is then still claimed. */
  async putOff({ family_id, attempts }: ClaimedLogout): Promise<boolean> {
    const delay = delays[attempts]
    if (delay === undefined) return false
    const next = { attempts: attempts + 1, due_at: this.#clock.now() + delay, claimed_until: null }
    await this.#database.transaction(
      (tx) => tx.updateTable('backchannel_logouts').set(next).where('family_id', '=', family_id).execute(),
      { priority: 'work' },
    )
    return true
  }
}

function dueLogouts(db: Database['reader'], now: number, busy: readonly string[]) {
  const due = db
    .selectFrom('backchannel_logouts')
    .select('family_id')
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
    .orderBy('due_at')
  return busy.length === 0 ? due : due.where('client_id', 'not in', busy)
}
