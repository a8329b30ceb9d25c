import type { RowOf } from '../../api/answers.ts'
import { Badge, formatNumber, formatPercent } from '../../ui/index.ts'

type SignIns = RowOf<'GET /providers'>['signIns']
type Counts = SignIns['day']

/** How many sign-ins succeeded lately. */
export function ProviderSignIns({ signIns: { day, week } }: { signIns: SignIns }) {
  if (week.ok + week.failed === 0) return <span className="text-soft">No sign-ins in the last 7 days</span>
  return (
    <ul>
      <Line name="Last 24 hours" counts={day} />
      <Line name="Last 7 days" counts={week} />
    </ul>
  )
}

function Line({ name, counts: { ok, failed } }: { name: string; counts: Counts }) {
  const all = ok + failed
  if (all === 0) return <li>{name}: none</li>
  const share = ok / all
  return (
    <li>
      {name}: {formatNumber(ok)} of {formatNumber(all)} succeeded{' '}
      <Badge tone={share >= 0.9 ? 'ok' : share >= 0.5 ? 'warn' : 'danger'}>{formatPercent(share)}</Badge>
    </li>
  )
}
