import type { AnswerOf } from '../../api/answers.ts'
import { formatDuration, formatNumber, formatPercent, formatTime } from '../../ui/index.ts'

export type Health = AnswerOf<'GET /subscribers/{id}/health'>

const hour = 3_600_000
const [barWidth, gap, height] = [10, 2, 64]
const mostBars = 72

interface Slot {
  from: number
  delivered: number
  failed: number
}

/** Attempts as bars of some hours each, and the same as a sentence. */
export function HealthChart({ health }: { health: Health }) {
  const { delivered, failed, successRate, p50, p99 } = health
  if (successRate === null || p50 === null || p99 === null)
    return <p className="text-soft">No attempts in this time range.</p>
  const words = `${formatPercent(successRate)} of ${formatNumber(delivered + failed)} attempts succeeded; p50 ≤ ${formatDuration(p50)}, p99 ≤ ${formatDuration(p99)}.`
  const slots = slotsOf(health)
  const most = Math.max(...slots.map((slot) => slot.delivered + slot.failed), 1)
  const width = slots.length * (barWidth + gap)
  return (
    <figure>
      <div className="flex gap-2 text-xs text-soft tabular-nums">
        <div aria-hidden className="flex flex-col justify-between text-right">
          <span>{formatNumber(most)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={words}
          className="h-24 w-full border-y border-line"
        >
          {slots.map((slot, index) => (
            <Bar key={slot.from} slot={slot} x={index * (barWidth + gap)} most={most} />
          ))}
        </svg>
      </div>
      <div aria-hidden className="mt-1 flex justify-between pl-6 text-xs text-soft">
        <span>{formatTime(slots[0]!.from)}</span>
        <span>{formatTime(Date.parse(health.until))}</span>
      </div>
      <figcaption className="mt-2 text-sm text-soft">{words} Green: succeeded. Red: failed.</figcaption>
    </figure>
  )
}

function slotsOf({ since, until, hours }: Health): Slot[] {
  const [begin, end] = [Date.parse(since), Date.parse(until)]
  const perBar = Math.max(1, Math.ceil((end - begin) / hour / mostBars)) * hour
  const slots = Array.from({ length: Math.max(1, Math.ceil((end - begin) / perBar)) }, (_, index) => ({
    from: begin + index * perBar,
    delivered: 0,
    failed: 0,
  }))
  for (const one of hours) {
    const slot = slots[Math.floor((Date.parse(one.hour) - begin) / perBar)]
    if (!slot) continue
    slot.delivered += one.delivered
    slot.failed += one.failed
  }
  return slots
}

function Bar({ slot: { from, delivered, failed }, x, most }: { slot: Slot; x: number; most: number }) {
  const scale = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / most) * height))
  const [good, bad] = [scale(delivered), scale(failed)]
  // Together never higher than the chart.
  const shrink = Math.min(1, height / Math.max(good + bad, 1))
  return (
    <g>
      <title>{`${formatTime(from)}: ${formatNumber(delivered)} succeeded, ${formatNumber(failed)} failed`}</title>
      <rect className="fill-ok" x={x} width={barWidth} y={height - good * shrink} height={good * shrink} />
      <rect
        className="fill-danger"
        x={x}
        width={barWidth}
        y={height - (good + bad) * shrink}
        height={bad * shrink}
      />
    </g>
  )
}
