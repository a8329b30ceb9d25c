import { useState } from 'react'
import type { ChartColor } from './chart-colors.ts'
import { Time } from './time.tsx'

export interface ChartLine {
  label: string
  color: Exclude<ChartColor, 'line' | 'ink'>
  /** One value for each time; null if nothing was measured then. */
  values: readonly (number | null)[]
  /** Whether the area below it is tinted. */
  filled?: boolean
}

/** What a chart shows, as a table: for screen readers, for keyboards, and for exact values. Made when it is opened. */
export function ChartTable({
  title,
  times,
  lines,
  format,
}: {
  title: string
  times: readonly number[]
  lines: readonly ChartLine[]
  format: (value: number) => string
}) {
  const [open, setOpen] = useState(false)
  const isEmpty = (index: number): boolean => lines.every(({ values }) => !values[index])
  const shown = times.map((_, index) => index).filter((index) => !isEmpty(index))
  return (
    <details className="mt-1 text-sm" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="min-h-6 cursor-pointer text-soft hover:text-ink">
        Show as a table<span className="sr-only">: {title}</span>
      </summary>
      {open && (
        <div className="max-h-64 overflow-auto" tabIndex={0} role="region" aria-label={`${title}, values`}>
          <table className="w-full text-left tabular-nums">
            <thead>
              <tr>
                <th scope="col" className="py-1 pr-3 font-medium">
                  Time
                </th>
                {lines.map(({ label }) => (
                  <th key={label} scope="col" className="py-1 pr-3 text-right font-medium">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.toReversed().map((index) => (
                <tr key={times[index]} className="border-t border-line">
                  <td className="py-1 pr-3">
                    <Time value={times[index]} />
                  </td>
                  {lines.map(({ label, values }) => (
                    <td key={label} className="py-1 pr-3 text-right">
                      {values[index] === null ? '–' : format(values[index]!)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}
