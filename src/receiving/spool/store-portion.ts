import type { Log } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { isRefusedValue } from '../../storage/refused-value.ts'
import type { Portion, Spool } from './spool.ts'

export interface StoreParts {
  /** Stores events in the database, each at most once per (source, event id). */
  store: (events: readonly IncomingEvent[]) => Promise<void>
  log: Log
}

/** The database does not answer, or refuses events. Errors of the spool have other classes. */
export class DatabaseAway extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'DatabaseAway'
  }
}

/**
 * Stores a portion in the database, or gives it back to its spool.
 * @throws DatabaseAway, and errors of the spool
 */
export async function storePortion(portion: Portion, spool: Spool, parts: StoreParts): Promise<void> {
  try {
    await storeEvents(portion.events, spool, parts)
  } catch (error) {
    await releaseEvents(portion, error)
  }
}

/** Sets an event aside that the database refuses, so that it does not block the others. Halving finds it. */
async function storeEvents(events: readonly IncomingEvent[], spool: Spool, parts: StoreParts): Promise<void> {
  try {
    await parts.store(events)
  } catch (error) {
    // Another error than of a value, such as a missing table or right, concerns all events.
    if (!isRefusedValue(error)) throw new DatabaseAway(error)
    if (events.length === 1) {
      await setAside(events[0]!, spool, { error, log: parts.log })
      return
    }
    const middle = Math.ceil(events.length / 2)
    await storeEvents(events.slice(0, middle), spool, parts)
    await storeEvents(events.slice(middle), spool, parts)
  }
}

async function setAside(
  event: IncomingEvent,
  spool: Spool,
  { error, log }: { error: unknown; log: Log },
): Promise<void> {
  const { source, eventId, type } = event
  await spool.setAside(event, error instanceof Error ? error.message : String(error))
  log.error(
    { err: error, source, eventId, type },
    'the database rejects an acknowledged webhook: it is set aside in the spool',
  )
}

/** @throws the error with which the portion failed. */
async function releaseEvents(portion: Portion, error: unknown): Promise<never> {
  await portion.release().catch((second: unknown) => {
    const both = new AggregateError([error, second], 'spooled webhooks could be neither moved nor released')
    throw error instanceof DatabaseAway ? new DatabaseAway(both) : both
  })
  throw error
}
