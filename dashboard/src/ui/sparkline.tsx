/** A small line without axes beside a figure, which says the same in words. */
export function Sparkline({ values, danger = false }: { values: readonly number[]; danger?: boolean }) {
  const most = Math.max(...values, 1)
  const width = Math.max(values.length - 1, 1)
  const points = values.map((value, index) => `${index},${(20 - (value / most) * 18).toFixed(2)}`).join(' ')
  return (
    <svg aria-hidden="true" viewBox={`0 0 ${width} 21`} preserveAspectRatio="none" className="h-8 w-full">
      <polyline
        points={points}
        fill="none"
        strokeWidth={1.5}
        vectorEffect="non-scaling-stroke"
        className={danger ? 'stroke-danger' : 'stroke-accent'}
      />
    </svg>
  )
}
