import { useEffect, useMemo, useRef, useState } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { colorOf, useThemeVersion, type ChartColor } from './chart-colors.ts'
import { ChartTable, type ChartLine } from './chart-table.tsx'
import { endedSteps } from './ended-steps.ts'
import { formatTime } from './format.ts'

export interface ChartProps {
  /** What it shows, such as "Webhooks received". */
  title: string
  /** Milliseconds since 1970, ascending. The last step has not ended. */
  times: readonly number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
  /** Pixels. Default 160. */
  height?: number
  /** Shown where all values are zero or unknown. */
  empty?: string
}

/** Lines over time, with the values at the pointer, and the same as a table. Load its page lazily: it brings uPlot. */
export default function Chart({
  title,
  times: allTimes,
  lines: wholeLines,
  format,
  height = 160,
  empty = 'No data in this period',
}: ChartProps) {
  const { times, lines } = useMemo(() => {
    const count = endedSteps(wholeLines.map(({ values }) => values))
    return {
      times: allTimes.slice(0, count),
      lines: wholeLines.map((line) => ({ ...line, values: line.values.slice(0, count) })),
    }
  }, [allTimes, wholeLines])
  const [at, setAt] = useState<number | null>(null)
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const theme = useThemeVersion()
  const data = useRef<UPlot.AlignedData>([[]])
  data.current = [times.map((time) => time / 1000), ...lines.map(({ values }) => [...values])]
  const isEmpty = lines.every(({ values }) => !values.some(Boolean))
  // New lines or colors need a new plot, new values do not.
  const shape = JSON.stringify(lines.map(({ label, color, filled }) => [label, color, filled]))
  const formatting = useRef(format)
  formatting.current = format

  useEffect(() => {
    const target = place.current
    if (!target) return
    const made = new UPlot(
      optionsOf({ target, lines, height, onIndex: setAt, format: (value) => formatting.current(value) }),
      data.current,
      target,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: target.clientWidth, height }))
    resized.observe(target)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = undefined
    }
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [shape, height, theme, isEmpty])

  useEffect(() => plot.current?.setData(data.current), [times, lines])

  return (
    <figure className="min-w-0">
      <figcaption className="mb-1 flex flex-wrap items-baseline gap-x-3 text-sm">
        <span className="font-medium">{title}</span>
        {lines.map(({ label, color, values }) => (
          <span key={label} className="inline-flex items-center gap-1 text-soft">
            <span
              aria-hidden
              className="size-2 rounded-full"
              style={{ background: `var(--color-${color})` }}
            />
            {label}
            {at !== null && values[at] !== null && values[at] !== undefined && (
              <b className="font-medium text-ink tabular-nums">{format(values[at])}</b>
            )}
          </span>
        ))}
        {at !== null && times[at] !== undefined && (
          <span className="ml-auto text-soft tabular-nums">{formatTime(times[at])}</span>
        )}
      </figcaption>
      {isEmpty ? (
        <p
          className="flex items-center justify-center rounded-md bg-sunken text-sm text-soft"
          style={{ height }}
        >
          {empty}
        </p>
      ) : (
        <>
          <div ref={place} aria-hidden="true" className="w-full overflow-hidden" style={{ height }} />
          <ChartTable title={title} times={times} lines={lines} format={format} />
        </>
      )}
    </figure>
  )
}

const hours = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const days = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

/** The times of an axis as the reader writes them; the day below the first time of each. @param step seconds between two */
function timesOf(seconds: readonly number[], step: number): string[] {
  const times = seconds.map((value) => new Date(value * 1000))
  if (step >= 86_400) return times.map((time) => days.format(time))
  return times.map((time, at) => {
    const isNewDay = times[at - 1]?.toDateString() !== time.toDateString()
    return isNewDay ? `${hours.format(time)}\n${days.format(time)}` : hours.format(time)
  })
}

function isolated(plot: UPlot, series: number): number[] {
  const values = plot.data[series]!
  const isKnown = (index: number): boolean => values[index] !== null && values[index] !== undefined
  return Array.from(values).flatMap((_, at) =>
    isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1) ? [at] : [],
  )
}

interface OptionParts {
  target: HTMLElement
  lines: readonly ChartLine[]
  height: number
  onIndex: (index: number | null) => void
  format: (value: number) => string
}

function optionsOf({ target, lines, height, onIndex, format }: OptionParts): UPlot.Options {
  const color = (name: ChartColor): string => colorOf(name, target)
  const axis = {
    stroke: color('soft'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: target.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    // A line of zeros lies at the bottom.
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most ?? 0, 0) * 1.1 || 1] } },
    axes: [
      { ...axis, space: 70, values: (_plot, splits, _at, _space, step) => timesOf(splits, step) },
      { ...axis, size: 56, space: 32, values: (_plot, splits) => splits.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name, filled }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        // A value without neighbors has no line.
        points: { size: 5, show: true, filter: isolated },
        ...(filled && { fill: colorOf(name, target, 12) }),
      })),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onIndex(idx ?? null)] },
  }
}
