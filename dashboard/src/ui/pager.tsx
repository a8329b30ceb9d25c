import { Button } from './button.tsx'
import { formatNumber } from './format.ts'

/** Numbered pages: how many rows there are, and the way to the pages beside this one. */
export function Pager({
  pagination: { page, hasNext, total, totalPages, estimated },
  one,
  onGo,
}: {
  pagination: { page: number; hasNext: boolean; total?: number; totalPages?: number; estimated?: boolean }
  /** The word for a row, such as `user`. */
  one: string
  onGo: (page: number) => void
}) {
  const count =
    total !== undefined &&
    `${estimated ? 'about ' : ''}${formatNumber(total)} ${total === 1 ? one : `${one}s`}`
  const at =
    (page > 1 || hasNext) &&
    `page ${formatNumber(page)}${totalPages === undefined ? '' : ` of ${formatNumber(Math.max(totalPages, 1))}`}`
  return (
    <nav aria-label={`Pages of ${one}s`} className="flex flex-wrap items-center gap-3">
      <p role="status" className="flex-1 text-soft tabular-nums">
        {[count, at].filter(Boolean).join(' · ')}
      </p>
      {at && (
        <>
          <Button disabled={page <= 1} onClick={() => onGo(page - 1)}>
            Previous
          </Button>
          <Button disabled={!hasNext} onClick={() => onGo(page + 1)}>
            Next
          </Button>
        </>
      )}
    </nav>
  )
}
