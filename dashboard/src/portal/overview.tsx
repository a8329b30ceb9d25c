import { Fact, Facts, Section } from '../ui/page.tsx'
import { formatDuration, formatNumber, formatPercent } from '../ui/format.ts'
import { Time } from '../ui/time.tsx'
import type { SubscriberDetail } from './client.ts'

/** How an endpoint does, and all its settings. */
export function Overview({ endpoint }: { endpoint: SubscriberDetail }) {
  const { lastDay, eventTypes, signing, ordered, rateLimit, headers, createdAt, updatedAt } = endpoint
  return (
    <>
      <Section title="The last day">
        <Facts>
          <Fact name="Delivered">{formatNumber(lastDay.delivered)}</Fact>
          <Fact name="Failed attempts">{formatNumber(lastDay.failed)}</Fact>
          <Fact name="Success">
            {lastDay.successRate === null ? 'nothing sent' : formatPercent(lastDay.successRate)}
          </Fact>
          <Fact name="99 of 100 answers within">
            {lastDay.p99 === null ? 'nothing sent' : formatDuration(lastDay.p99)}
          </Fact>
        </Facts>
      </Section>
      <Section title="Settings">
        <Facts>
          <Fact name="Event types">{eventTypes.includes('*') ? 'all' : eventTypes.join(', ')}</Fact>
          <Fact name="Signature">
            {{ v1: 'secret (HMAC-SHA256)', v1a: 'key pair (ed25519)', both: 'secret and key pair' }[signing]}
          </Fact>
          <Fact name="Order">{ordered ? 'one after the other' : 'side by side'}</Fact>
          <Fact name="Attempts per second">{rateLimit ?? 'no limit'}</Fact>
          <Fact name="Headers">{Object.keys(headers).join(', ') || 'none'}</Fact>
          <Fact name="Added">
            <Time value={createdAt} />
          </Fact>
          <Fact name="Changed">
            <Time value={updatedAt} />
          </Fact>
        </Facts>
      </Section>
    </>
  )
}
