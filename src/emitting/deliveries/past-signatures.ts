import type { Clock } from '../../runtime/clock.ts'
import type { Queryable } from '../../storage/database.ts'
import type { AttemptsTable } from '../../storage/tables.ts'
import { payloadShown, type DeliveryDetail } from './delivery-log.ts'
import { schemesOf, type SubscriberSecrets } from '../subscribers/secrets.ts'
import { signatures } from '../attempt/signature.ts'

/** Milliseconds for which receivers accept a signature: the tolerance of Standard Webhooks. */
const tolerance = 5 * 60_000

export interface PastSignaturesParts {
  db: Queryable
  secrets: SubscriberSecrets
  clock: Clock
}

/**
 * Returns a function that computes the signatures of an attempt again, from the keys that signed then and are still stored. They
 * are not recorded, because they are valid for some minutes; until that time is over, and without such a key, it returns null.
 */
export async function pastSignatures(
  { db, secrets, clock }: PastSignaturesParts,
  { entry, signing, payload, size }: DeliveryDetail,
): Promise<(attempt: AttemptsTable) => string | null> {
  if (size > payloadShown) return () => null
  const keys = await secrets.load(db, entry.subscriber_id, schemesOf(signing))
  const expired = clock.now() - tolerance
  return ({ at, request_headers }) => {
    const timestamp = (JSON.parse(request_headers) as Record<string, string>)['webhook-timestamp']
    if (at > expired || timestamp === undefined) return null
    const then = keys.filter(
      ({ createdAt, expiresAt }) => createdAt <= at && (expiresAt === null || expiresAt > at),
    )
    if (then.length === 0) return null
    const signers = then.map((key) => key.signing)
    return signatures(signers, entry.event_id, Number(timestamp), payload)
  }
}
