import { formatTime } from '../../ui/index.ts'

const hour = 3_600_000

/** A bar for each hour up to now; `scale` writes the highest and the ends of the axis. */
export function Hours({
  hours,
  length,
  scale = false,
}: {
  hours: readonly { at: string; count: number }[]
  length: number
  scale?: boolean
}) {
  const now = Math.floor(Date.now() / hour)
  const counts = new Map(hours.map(({ at, count }) => [Math.floor(Date.parse(at) / hour), count]))
  const bars = Array.from({ length }, (_, place) => {
    const at = now - length + 1 + place
    return { at: at * hour, count: counts.get(at) ?? 0 }
  })
  const most = Math.max(1, ...bars.map(({ count }) => count))
  const total = bars.reduce((sum, { count }) => sum + count, 0)
  const span = length > 48 ? `${Math.round(length / 24)} days` : `${length} hours`
  const chart = (
    <svg
      viewBox={`0 0 ${length} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${total} failed attempts in the last ${span}, at most ${most} in an hour`}
      className="h-8 w-full min-w-24 border-b border-line text-danger"
    >
      {bars.map(({ at, count }, place) => {
        const height = count === 0 ? 0 : Math.max(0.8, (10 * count) / most)
        return (
          <rect key={at} x={place + 0.1} y={10 - height} width={0.8} height={height} fill="currentColor">
            <title>{`${formatTime(at)}: ${count}`}</title>
          </rect>
        )
      })}
    </svg>
  )
  if (!scale) return chart
  return (
    <div className="text-xs text-soft tabular-nums">
      <p>{total === 0 ? 'none' : `at most ${most} an hour`}</p>
      {chart}
      <p className="flex justify-between">
        <span>{formatTime(bars[0]!.at)}</span>
        <span>now</span>
      </p>
    </div>
  )
}
