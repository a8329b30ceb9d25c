import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { Chance } from '../harness/chance.ts'
import type { Engine } from '../harness/engines.ts'
import { eventually } from '../receiving/harness.ts'
import { environment } from './handlers.ts'
import { checkOutcome, createEffects, settled, type Outcome } from './outcome.ts'
import { Processes } from './processes.ts'
import { Progress, tallyOfEventQueue } from './progress.ts'
import { Senders } from './senders.ts'

export interface CampaignOptions {
  kills: number
  /** On SQLite one. */
  processes: number
  seed: number
  onKill?: (kills: number) => void
}

export interface Campaign extends Outcome {
  kills: number
  acknowledged: number
  /** Requests that were sent although they were acknowledged. */
  duplicates: number
  /** Requests that a kill left without an answer. */
  unanswered: number
}

/** Events that are left at which the senders pause: kills must not come faster than work is done, whatever the machine. */
const mostLeft = 500
/** Milliseconds that the first acknowledgements may take after the last restart. */
const acknowledgedWithin = 180_000

/**
 * Kills processes of the service at random moments under load, and then looks whether every acknowledged event has had its
 * effect and its follow-up, exactly once each, those of a key in order.
 * @throws AssertionError
 */
export async function campaign(
  engine: Engine,
  { kills, processes: places, seed, onKill }: CampaignOptions,
): Promise<Campaign> {
  const home = await engine.createDatabase()
  const chance = new Chance(seed)
  const database = await openDatabase(home.url)
  let senders: Senders | undefined
  let progress: Progress | undefined
  const counts = {
    acknowledged: () => senders?.acknowledged.size ?? 0,
    ended: () => progress?.ended ?? 0,
  }
  const processes = new Processes(home.url, chance, counts, environment)
  try {
    await migrate(database)
    await createEffects(database)
    const looking = (progress = new Progress(() => tallyOfEventQueue(database)))
    const sending = (senders = new Senders(
      8,
      chance,
      () => processes.addresses,
      () => looking.left > mostLeft,
    ))
    try {
      await processes.killUntil(kills, places, () => onKill?.(processes.kills))
      const before = sending.acknowledged.size
      await eventually(
        () => sending.acknowledged.size > before + 50,
        'events are acknowledged',
        acknowledgedWithin,
      )
    } finally {
      await sending.end()
      looking.stop()
    }
    await settled(database)
    const { acknowledged, duplicates, unanswered } = sending
    const outcome = await checkOutcome(database, acknowledged)
    return { kills: processes.kills, acknowledged: acknowledged.size, duplicates, unanswered, ...outcome }
  } finally {
    progress?.stop()
    await processes.end()
    await database.close()
    await home.drop()
  }
}
