import { Navigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { boot } from '../../api/boot.ts'
import { useIsAdmin } from '../../api/session.ts'
import { ranges, useRange, type Range } from '../../layout/time-range.ts'
import { Loading, ProblemNotice } from '../../ui/notices.tsx'
import { Page } from '../../ui/page.tsx'
import { Attention } from './attention.tsx'
import { Checklist } from './checklist.tsx'
import { useAttention, useChecklist, useHistory, type History } from './data.ts'
import { Figures } from './figures.tsx'

const Charts = lazy(() => import('./charts.tsx'))

/** The first page: what happened, what fails, and what to do next. Ordinary users have their account instead. */
export function HomePage() {
  return useIsAdmin() ? <Overview /> : <Navigate to="/account" replace />
}

function Overview() {
  const range = useRange()
  const history = useHistory(range)
  const attention = useAttention()
  const checklist = useChecklist()
  return (
    <Page
      title="Home"
      range
      description={
        boot.demo
          ? 'Demo mode: the service accepts requests from this machine only, and has a built-in identity provider.'
          : `Traffic and problems, ${ranges[range].toLowerCase()}.`
      }
    >
      {history.error && <ProblemNotice error={history.error} retry={() => void history.refetch()} />}
      <Figures history={history.data} items={attention.data?.data} />
      <Attention query={attention} />
      <Checklist data={checklist.data} />
      {/* Above them all is in its place, so that they are loaded only if they are seen. */}
      {history.data && !attention.isPending && !checklist.isPending && (
        <ChartsInView history={history.data} range={range} />
      )}
    </Page>
  )
}

/** Loads the charts when they come near the view. */
function ChartsInView(props: { history: History; range: Range }) {
  const place = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true)
      },
      { rootMargin: '100px' },
    )
    observer.observe(place.current!)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={place} className="min-h-64">
      {near && (
        <Suspense fallback={<Loading label="Loading charts" />}>
          <Charts {...props} />
        </Suspense>
      )}
    </div>
  )
}
