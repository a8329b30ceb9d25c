import type { Clock } from '../../runtime/clock.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import { errorOf } from '../../network/exchange.ts'
import type { OutboundAgent } from '../../network/outbound-agent.ts'
import { printable } from '../../telemetry/printable.ts'
import { exportEntry } from '../audit/audit-entry.ts'
import type { AuditDestination } from './forwarder.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** Bytes of a response that are read, so that its connection can be reused. */
const answerLimit = 16 * 1024

/**
 * Posts batches as JSON, `{"type":"audit.entries","timestamp":…,"data":{"entries":[…]}}`, signed with each of the secrets
 * (Standard Webhooks). Only a 2xx response means that the batch was accepted. Redirects are not followed.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function webhookDestination(
  url: string,
  secrets: readonly Uint8Array[],
  { agent, clock }: { agent: OutboundAgent; clock: Clock },
): AuditDestination {
  const { origin, pathname, search } = new URL(url)
  const macs = secrets.map((secret) => new HmacKey('sha256', secret))
  return {
    async send(rows, signal) {
      const now = clock.now()
      const entries = rows.map(exportEntry)
      const payload = { type: 'audit.entries', timestamp: isoTime(now), data: { entries } }
      const body = Buffer.from(printable(JSON.stringify(payload)))
      // The same entries have the same id, so that the receiver can detect a repetition.
      const id = `audit_${rows[0]!.seq}_${rows.at(-1)!.seq}`
      const timestamp = String(Math.floor(now / 1000))
      const signed = `${id}.${timestamp}.`
      const signatures = macs.map((mac) => `v1,${mac.digest(signed, body).toString('base64')}`)
      const exchange = agent.exchange({
        origin,
        path: pathname + search,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signatures.join(' '),
        },
        body,
        responseLimit: answerLimit,
      })
      const outcome = await exchange.until(signal)
      const { status } = outcome
      if (status === null || outcome.error !== undefined) throw errorOf(outcome)
      if (status < 200 || status > 299) throw new Error(`${origin} answered ${status}`)
    },
    close: () => agent.destroy(),
  }
}
