import { useEffect, useRef, useState, type ReactNode } from 'react'
import { fill, words } from '../language/words.ts'

/** Scrolls what is wider than its place. Then it can have the focus, so that the arrow keys scroll it. */
export function SideScroll({ label, children }: { label: string; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null)
  const [scrolls, setScrolls] = useState(false)
  useEffect(() => {
    const element = place.current!
    const observer = new ResizeObserver(() => setScrolls(element.scrollWidth > element.clientWidth))
    observer.observe(element)
    observer.observe(element.firstElementChild!)
    return () => observer.disconnect()
  }, [])
  return (
    <div
      ref={place}
      {...(scrolls && {
        tabIndex: 0,
        role: 'group',
        'aria-label': fill(words.ui.scrollsSideways, { label }),
      })}
      // `relative`, so that it clips what is only for screen readers, too.
      className="relative overflow-x-auto overflow-y-hidden"
    >
      {children}
    </div>
  )
}
