import { useEffect, useRef } from 'react'
import { words } from '../language/words.ts'
import { Button } from './button.tsx'

/** Pixels below the window at which an endless table reads on. */
const readAhead = 800

/** The end of the rows that were read: a button, which an endless table presses itself as it comes near. */
export function MoreRows({
  onMore,
  loading,
  endless,
}: {
  onMore: () => void
  loading: boolean
  endless: boolean
}) {
  const end = useRef<HTMLDivElement>(null)
  const latest = useRef(onMore)
  useEffect(() => {
    latest.current = onMore
  })
  useEffect(() => {
    if (!endless || loading || !end.current) return
    const observer = new IntersectionObserver(
      // Several changes may come at once: the last one holds.
      (entries) => entries.at(-1)?.isIntersecting && latest.current(),
      { rootMargin: `${readAhead}px` },
    )
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [endless, loading])
  return (
    <div ref={end} className="border-t border-line p-3 text-center">
      <Button small busy={loading} onClick={onMore}>
        {words.ui.showMore}
      </Button>
    </div>
  )
}
