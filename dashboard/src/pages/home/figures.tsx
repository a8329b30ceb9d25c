import { Link } from '@tanstack/react-router'
import { Sparkline } from '../../ui/sparkline.tsx'
import { endedSteps } from '../../ui/ended-steps.ts'
import { formatNumber } from '../../ui/format.ts'
import { seriesOf, type History, type AttentionItem, type Series } from './data.ts'

interface Figure {
  label: string
  to: string
  value: number | undefined
  note: string
  values: readonly number[]
  danger?: boolean
}

/** In, out, sign-ins, and what fails now; each leads to its page. */
export function Figures({
  history,
  items,
}: {
  history: History | undefined
  items: AttentionItem[] | undefined
}) {
  const [webhooks, handlers, deliveries, signIns] = (
    ['webhooks', 'handlers', 'deliveries', 'signIns'] as const
  ).map((name) => seriesOf(history, name)) as [Series, Series, Series, Series]
  const failing = items?.filter(({ severity }) => severity === 'error').length
  const known = history !== undefined
  const figures: Figure[] = [
    {
      label: 'Webhooks in',
      to: '/events',
      value: known ? webhooks.total.ok : undefined,
      note: noteOf(webhooks.total.failed, 'rejected'),
      values: webhooks.ok,
    },
    {
      label: 'Deliveries out',
      to: '/deliveries',
      value: known ? deliveries.total.ok : undefined,
      note: noteOf(deliveries.total.failed, 'failed attempts'),
      values: deliveries.ok,
    },
    {
      label: 'Sign-ins',
      to: '/users',
      value: known ? signIns.total.ok : undefined,
      note: noteOf(signIns.total.failed, 'failed'),
      values: signIns.ok,
    },
    {
      label: 'Open problems',
      to: '/failures',
      value: failing,
      note: noteOf(handlers.total.failed, 'failed runs'),
      values: handlers.failed.map((count, index) => count + (deliveries.failed[index] ?? 0)),
      danger: (failing ?? 0) > 0,
    },
  ]
  return (
    <div className="mb-5 grid grid-cols-2 gap-3 lg:grid-cols-4">
      {figures.map((figure) => (
        <FigureCard key={figure.label} {...figure} />
      ))}
    </div>
  )
}

const noteOf = (count: number, what: string): string =>
  `${formatNumber(count)} ${count === 1 ? what.replace(/s$/, '') : what}`

function FigureCard({ label, to, value, note, values, danger = false }: Figure) {
  return (
    <Link
      to={to}
      className="block min-w-0 rounded-lg border border-line bg-card px-4 pt-3 pb-2 hover:border-strong"
    >
      <span className="block text-sm text-soft">{label}</span>
      <span className={`block text-2xl font-semibold tabular-nums ${danger ? 'text-danger' : ''}`}>
        {value === undefined ? '…' : formatNumber(value)}
      </span>
      <span className="block truncate text-sm text-soft">{note}</span>
      <Sparkline values={values.slice(0, endedSteps([values]))} danger={danger} />
    </Link>
  )
}
