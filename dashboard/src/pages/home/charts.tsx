import { ranges, type Range } from '../../layout/time-range.ts'
import Chart from '../../ui/chart.tsx'
import { Section } from '../../ui/page.tsx'
import { formatDuration, formatShort, timeZone } from '../../ui/format.ts'
import { seriesOf, timesOf, type History } from './data.ts'

const kinds = [
  { name: 'webhooks', title: 'Webhooks in', failed: 'rejected', took: 'Time to acknowledge' },
  { name: 'handlers', title: 'Handlers', failed: 'failed', took: 'Run duration' },
  { name: 'deliveries', title: 'Deliveries out', failed: 'failed', took: 'Attempt duration' },
] as const

/** Rates, failures and durations of the time range, and how old the oldest due work was. */
export default function Charts({ history, range }: { history: History; range: Range }) {
  const times = timesOf(history)
  const oldest = seriesOf(history, 'oldestDue')
  const signIns = seriesOf(history, 'signIns')
  const per = history.step
  const rate = (values: readonly number[]): number[] => values.map((count) => count / per)
  const formatRate = (value: number): string =>
    `${value === 0 ? '0' : value < 10 ? Number(value.toPrecision(2)) : formatShort(Math.round(value))}/s`
  return (
    <Section
      title="Over time"
      description={`${ranges[range]} in steps of ${formatDuration(per * 1000)} · ${timeZone}`}
    >
      <div className="grid grid-cols-1 gap-x-8 gap-y-6 lg:grid-cols-2">
        {kinds.map(({ name, title, failed, took }) => {
          const series = seriesOf(history, name)
          return [
            <Chart
              key={`${name} rate`}
              title={`${title}: rate`}
              times={times}
              format={formatRate}
              lines={[
                { label: 'succeeded', color: 'accent', values: rate(series.ok), filled: true },
                { label: failed, color: 'danger', values: rate(series.failed) },
              ]}
            />,
            <Chart
              key={`${name} durations`}
              title={`${title}: ${took.toLowerCase()}`}
              times={times}
              format={formatDuration}
              lines={[
                { label: 'p50', color: 'info', values: series.p50 },
                { label: 'p99', color: 'warn', values: series.p99 },
              ]}
            />,
          ]
        })}
        <Chart
          title="Sign-ins"
          times={times}
          format={formatShort}
          lines={[
            { label: 'succeeded', color: 'accent', values: signIns.ok, filled: true },
            { label: 'failed', color: 'danger', values: signIns.failed },
          ]}
        />
        <Chart
          title="Longest wait of due work"
          times={times}
          format={formatDuration}
          empty="No due work waited in this period"
          lines={[{ label: 'age', color: 'warn', values: oldest.p99.map((age) => age ?? 0), filled: true }]}
        />
      </div>
    </Section>
  )
}
