import { formatTime } from '../../ui/index.ts'

const hour = 3_600_000

/** A bar for each hour up to now. */
export function Hours({
  hours,
  length,
}: {
  hours: readonly { at: string; count: number }[]
  length: number
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
  return (
    <svg
      viewBox={`0 0 ${length} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${total} failed attempts in the last ${span}`}
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
}
