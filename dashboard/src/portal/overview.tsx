import { words } from '../language/words.ts'
import { Fact, Facts, Section } from '../ui/page.tsx'
import { asLabel, formatDuration, formatNumber, formatPercent } from '../ui/format.ts'
import { statusWord } from '../ui/badge.tsx'
import { Time } from '../ui/time.tsx'
import type { SubscriberDetail } from './client.ts'
import { writeCondition } from '../webhooks/settings-form.ts'
import { portalWords } from './language/load.ts'

/** How an endpoint does, and its main settings. */
export function Overview({ endpoint }: { endpoint: SubscriberDetail }) {
  const {
    lastDay,
    eventTypes,
    conditions,
    channels,
    signing,
    ordered,
    rateLimit,
    headers,
    createdAt,
    updatedAt,
  } = endpoint
  return (
    <>
      <Section title={portalWords.lastDay}>
        <Facts>
          <Fact name={asLabel(statusWord('delivered'))}>{formatNumber(lastDay.delivered)}</Fact>
          <Fact name={portalWords.failedAttempts}>{formatNumber(lastDay.failed)}</Fact>
          <Fact name={portalWords.success}>
            {lastDay.successRate === null ? portalWords.nothingSent : formatPercent(lastDay.successRate)}
          </Fact>
          <Fact name={portalWords.p99}>
            {lastDay.p99 === null ? portalWords.nothingSent : formatDuration(lastDay.p99)}
          </Fact>
        </Facts>
      </Section>
      <Section title={portalWords.settings}>
        <Facts>
          <Fact name={words.eventTypes.label}>
            {eventTypes.includes('*') ? portalWords.allTypes : eventTypes.join(', ')}
          </Fact>
          {conditions.length > 0 && (
            <Fact name={words.settings.conditions}>{conditions.map(writeCondition).join(', ')}</Fact>
          )}
          {channels.length > 0 && <Fact name={words.settings.channels}>{channels.join(', ')}</Fact>}
          <Fact name={portalWords.signature}>{portalWords.signedBy[signing]}</Fact>
          <Fact name={portalWords.order}>{ordered ? portalWords.ordered : portalWords.parallel}</Fact>
          <Fact name={portalWords.rateLimit}>{rateLimit ?? words.replays.noLimit}</Fact>
          <Fact name={portalWords.headers}>{Object.keys(headers).join(', ') || portalWords.none}</Fact>
          <Fact name={portalWords.added}>
            <Time value={createdAt} />
          </Fact>
          <Fact name={portalWords.changed}>
            <Time value={updatedAt} />
          </Fact>
        </Facts>
      </Section>
    </>
  )
}
