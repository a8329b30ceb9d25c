import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { newId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { sleep, type Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { WebhookEndpoint } from '../endpoint/endpoint.ts'
import { signFor } from '../samples/sign-for.ts'
import { setUps } from '../schemes/set-up.ts'
import type { Scheme } from '../schemes/scheme.ts'

/** Milliseconds between two looks for the number of a stored sample, and the number of looks: a spooled event gets it later. */
const pause = 25
const looks = 40

export interface SampleParts {
  database: Database
  clock: Clock
  record: RecordAudit
  endpoints: ReadonlyMap<string, Pick<WebhookEndpoint, 'receiveSample'>>
  urlOf: (source: string) => string
}

interface NamedSource {
  name: string
  scheme: Scheme
}

export interface SampleOptions {
  type?: string | undefined
  data?: unknown
}

export interface StoredSample {
  /** The number in the event log; null if it is still in the spool. */
  id: number | null
  eventId: string
  type: string
}

/** Whether a sample of the source can be signed here. */
export function canSign(source: string, scheme: Scheme, now: number, url: string): boolean {
  return signFor(scheme, sampleRequest({ name: source, scheme }, {}, { now, url })) !== undefined
}

/**
 * Sends a signed sample through the verification and the storing of its source. Its handlers run as for any event.
 * @throws Problem `unprocessable` if no sample can be signed for this source; what refuses a webhook
 */
export async function sendSample(
  parts: SampleParts,
  source: NamedSource,
  options: SampleOptions,
  origin: AuditOrigin,
): Promise<StoredSample> {
  const { database, clock, record, endpoints, urlOf } = parts
  const { name, scheme } = source
  const url = urlOf(name)
  const signed = signFor(scheme, sampleRequest(source, options, { now: clock.now(), url }))
  if (!signed)
    throw new Problem('unprocessable', {
      detail: `No sample can be signed for the source ${name}: its sender signs with a key pair, or its scheme differs from that of the presets.`,
    })
  await database.transaction((tx) => record(tx, { action: 'source.sampled', target: name, ...origin }))
  const { body, headers } = signed
  const { eventId, type } = await endpoints
    .get(name)!
    .receiveSample({ rawBody: Buffer.from(body), headers, url })
  return { id: await numberOf(parts, name, eventId), eventId, type }
}

function sampleRequest(
  { name, scheme }: NamedSource,
  { type, data = { sample: true } }: SampleOptions,
  { now, url }: { now: number; url: string },
) {
  const chosen = type ?? setUps[scheme.name]?.exampleType ?? `${name}.sample`
  return { type: chosen, id: newId(now), now, data, url }
}

async function numberOf({ database, clock }: SampleParts, source: string, eventId: string) {
  for (let look = 0; look < looks; look += 1) {
    const row = await database.reader
      .selectFrom('event_queue')
      .select('event')
      .where('source', '=', source)
      .where('event_id', '=', eventId)
      .executeTakeFirst()
    if (row) return row.event
    await sleep(clock, pause)
  }
  return null
}
