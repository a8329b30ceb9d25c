import { Navigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { boot } from '../../api/boot.ts'
import { useIsAdmin } from '../../api/session.ts'
import { ranges, useRange } from '../../layout/time-range.ts'
import { Loading, Page, ProblemNotice } from '../../ui/index.ts'
import { Attention } from './attention.tsx'
import { Checklist } from './checklist.tsx'
import { useAttention, useHistory } from './data.ts'
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
  return (
    <Page
      title="Home"
      description={
        boot.demo
          ? 'This service runs in demo mode: it accepts calls of this machine only, and its identity provider is built in.'
          : `${ranges[range]} of everything that goes in and out.`
      }
    >
      {history.error && <ProblemNotice error={history.error} retry={() => void history.refetch()} />}
      <Figures history={history.data} matters={attention.data?.data} />
      <Attention query={attention} />
      <Checklist />
      {history.data && (
        <Suspense fallback={<Loading label="Loading charts" />}>
          <Charts history={history.data} range={range} />
        </Suspense>
      )}
    </Page>
  )
}
