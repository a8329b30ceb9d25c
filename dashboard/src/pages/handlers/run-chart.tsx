import Chart from '../../ui/chart.tsx'
import { formatNumber } from '../../ui/format.ts'
import type { Handler } from './handler-health.tsx'

const slot = 900_000
const slots = 96

/** The runs of a day. */
export default function RunChart({ activity }: { activity: Handler['activity'] }) {
  const end = Math.floor(Date.now() / slot)
  const known = new Map(activity.map((one) => [Math.floor(Date.parse(one.at) / slot), one]))
  const places = Array.from({ length: slots }, (_, at) => end - slots + 1 + at)
  const values = (name: 'handled' | 'failures'): number[] =>
    places.map((place) => known.get(place)?.[name] ?? 0)
  return (
    <Chart
      title="Runs"
      times={places.map((place) => place * slot)}
      format={(value) => (Number.isInteger(value) ? formatNumber(value) : '')}
      lines={[
        { label: 'succeeded', color: 'accent', values: values('handled'), filled: true },
        { label: 'failed', color: 'danger', values: values('failures') },
      ]}
    />
  )
}
