import { createHmac } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { Keyring } from '../crypto/keyring.ts'
import { writeCounts } from '../receiving/rejections/counts.ts'
import { reasonOf, type Reason } from '../receiving/rejections/reasons.ts'
import { redactBody, redactHeaders } from '../receiving/rejections/redact.ts'
import type { Tx } from '../storage/database.ts'
import type { RejectedWebhooksTable } from '../storage/tables.ts'
import { sampleScheme, sampleSecret, sampleSource, signatureHeader } from './sample-events.ts'

const hour = 3_600_000

interface Request {
  /** Since it arrived. */
  hours: number
  address: string
  userAgent: string
  body: object
  /** Whose secret signed it. */
  signedBy?: 'sender' | 'another'
}

const order = { id: 'evt_9127', type: 'sample.order.paid', data: { order: '0997', amount: 2650 } }
const probe = { address: '198.51.100.66', userAgent: 'python-requests/2.32.5', body: { ping: true } }
const staging = { address: '203.0.113.55', userAgent: 'Shop/3.1 (staging)', body: order } as const
const shop = { address: '203.0.113.54', userAgent: 'Shop/3.1', body: { id: 'evt_8804', data: {} } }

/** The oldest first. Nothing of them is rare in practice: a probe, a secret of another environment, an event without a type. */
const requests: readonly Request[] = [
  { ...probe, hours: 74 },
  { ...shop, hours: 29, signedBy: 'sender' },
  { ...staging, hours: 6.4, signedBy: 'another' },
  { ...staging, hours: 6.2, signedBy: 'another' },
  { ...staging, hours: 5.1, signedBy: 'another' },
  { ...probe, hours: 1.6 },
]

/** A webhook that the sample source refused before the first start. */
export interface SampleRefusal {
  /** Milliseconds since 1970. */
  at: number
  reason: Reason
  row: Insertable<RejectedWebhooksTable>
}

/** Refused webhooks with the reasons and details that the scheme of the source gives. @param now milliseconds since 1970 */
export function sampleRefusals(keyring: Keyring, now: number): SampleRefusal[] {
  const scheme = sampleScheme(keyring)
  return requests.map(({ hours, address, userAgent, body, signedBy }) => {
    const at = Math.round(now - hours * hour)
    const rawBody = Buffer.from(JSON.stringify(body))
    const secret = signedBy === 'sender' ? sampleSecret(keyring) : 'of another environment'
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...(signedBy && { [signatureHeader]: createHmac('sha256', secret).update(rawBody).digest('hex') }),
    }
    const result = scheme.verify({ rawBody, headers, now: at })
    if (!('rejected' in result)) throw new Error('the sample source accepts a request that it should reject')
    const reason = reasonOf(result)
    const row = {
      source: sampleSource,
      at,
      reason,
      detail: result.detail,
      address,
      headers: redactHeaders(headers, signatureHeader),
      size: rawBody.byteLength,
      body: redactBody(rawBody, rawBody.byteLength),
    }
    return { at, reason, row }
  })
}

/** Inserts them and their counts. */
export async function insertSampleRefusals(tx: Tx, refusals: readonly SampleRefusal[]): Promise<void> {
  await tx
    .insertInto('rejected_webhooks')
    .values(refusals.map(({ row }) => row))
    .execute()
  const counts = refusals.map(({ at, reason }) => ({ source: sampleSource, reason, count: 1, lastAt: at }))
  await writeCounts(tx, counts, -Infinity)
}
