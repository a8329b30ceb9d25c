import { Link, Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { Ellipsis } from 'lucide-react'
import { Suspense, useState } from 'react'
import { addressOf } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { timeZone } from '../ui/format.ts'
import { lazyPart } from '../ui/lazy-part.ts'
import { Loading, Notice } from '../ui/notices.tsx'
import { PageHeaderParts, useFocusOnContent } from '../ui/page.tsx'
import { NotAllowedPage } from './faults.tsx'
import { Header } from './header.tsx'
import { GuideLink, RangeSelect } from './page-header-parts.tsx'
import { adminPlaces, mainPlaces, userPlaces } from './navigation.ts'
import { Person } from './person.tsx'
import { Places } from './places.tsx'
import { ReadinessNotice } from './readiness-notice.tsx'

const PagesDrawer = lazyPart(() => import('./pages-drawer.tsx'))

/** The frame: header, sidebar (on a telephone a bar at the bottom), and the page. */
export function Layout() {
  return (
    <Suspense fallback={<Loading />}>
      <Frame />
    </Suspense>
  )
}

/** The pages that every user may see; Home leads on to the account. The others would show an administrator's page without its data. */
const openToAll: ReadonlySet<string> = new Set(
  ['/', ...userPlaces.flatMap(({ places }) => places.map(({ to }) => to))].flatMap((to) => [to, `${to}/`]),
)

function Frame() {
  const { user, stepUp } = useSession()
  const isAdmin = user.role === 'admin'
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath })
  useFocusOnContent(useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname }))
  const isAllowed = isAdmin || path === undefined || openToAll.has(path)
  return (
    <>
      <a
        href="#content"
        className="sr-only rounded-md bg-card px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
      >
        Skip to content
      </a>
      <Header isAdmin={isAdmin} />
      <div className="mx-auto flex max-w-[96rem]">
        <nav
          aria-label="Pages"
          className="sticky top-14 hidden h-[calc(100dvh-3.5rem)] w-52 shrink-0 flex-col overflow-y-auto p-3 md:flex"
        >
          <div className="flex-1">
            <Places groups={isAdmin ? adminPlaces : userPlaces} />
          </div>
          <Person isAdmin={isAdmin} />
        </nav>
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 px-4 py-5 pb-24 md:px-6 md:pb-10">
          {stepUp !== undefined && (
            <Notice tone="warn">
              Your rights as an administrator need a second factor.{' '}
              <a
                className="underline"
                href={`${addressOf(stepUp)}&return_to=${encodeURIComponent(location.pathname)}`}
              >
                Sign in with it
              </a>
            </Notice>
          )}
          {isAdmin && <ReadinessNotice />}
          <div className="md:min-h-[calc(100dvh-10.5rem)]">
            <PageHeaderParts value={{ guide: <GuideLink path={path ?? ''} />, range: <RangeSelect /> }}>
              <Suspense fallback={<Loading />}>{isAllowed ? <Outlet /> : <NotAllowedPage />}</Suspense>
            </PageHeaderParts>
          </div>
          <p className="mt-6 text-xs text-soft">Times are in {timeZone}.</p>
        </main>
      </div>
      {isAdmin && <BottomBar />}
    </>
  )
}

function BottomBar() {
  const [open, setOpen] = useState(false)
  const item = 'flex min-h-14 flex-1 flex-col items-center justify-center gap-0.5 text-xs'
  return (
    <nav
      aria-label="Main pages"
      className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-card md:hidden"
    >
      {mainPlaces.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          className={item}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          activeProps={{ className: 'font-semibold text-accent', 'aria-current': 'page' }}
          inactiveProps={{ className: 'text-soft' }}
        >
          <Icon size={20} aria-hidden /> {label}
        </Link>
      ))}
      <button type="button" className={`${item} text-soft`} onClick={() => setOpen(true)}>
        <Ellipsis size={20} aria-hidden /> More
      </button>
      {open && (
        <Suspense>
          <PagesDrawer onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </nav>
  )
}
