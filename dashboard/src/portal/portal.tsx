import { useQuery } from '@tanstack/react-query'
import { BrandMark, useBrand } from './brand.tsx'
import { fill } from '../language/words.ts'
import { Button } from '../ui/button.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { timeZone } from '../ui/format.ts'
import { Loading, ProblemNotice } from '../ui/notices.tsx'
import { useFocusOnContent } from '../ui/page.tsx'
import { embedded, enter, leave, type Session } from './client.ts'
import { EndpointPage } from './endpoint-page.tsx'
import { EndpointsPage } from './endpoints-page.tsx'
import { portalWords } from './language/load.ts'
import { usePlace } from './place.ts'
import { closePages } from './queries.ts'
import { WithoutLink } from './without-link.tsx'

/** The first entry only: under React's strict mode effects and queries may run twice, and a link works once. */
let entering: Promise<Session | null> | undefined

/** The pages on which an owner manages their endpoints. */
export function Portal({ link }: { link: string | undefined }) {
  const confirm = useConfirm()
  const session = useQuery({
    queryKey: ['session'],
    staleTime: Infinity,
    refetchInterval: false,
    gcTime: Infinity,
    refetchOnWindowFocus: false,
    queryFn: () =>
      (entering ??= enter(link, (detail) =>
        confirm({
          title: portalWords.openTitle,
          consequence: fill(portalWords.openConsequence, { detail }),
          action: portalWords.open,
          keep: portalWords.stay,
          kind: 'primary',
        }),
      ).then((found) => found ?? null)),
  })
  const out = async (): Promise<void> => {
    await leave()
    closePages()
  }
  const owner = session.data?.owner
  const brand = useBrand(session.error ? null : session.data)
  return (
    <>
      <Header
        owner={session.data?.name ?? owner}
        brand={brand}
        onLeave={embedded ? undefined : () => void out()}
      />
      <main id="content" tabIndex={-1} className="mx-auto max-w-5xl px-4 py-5">
        <div className={embedded ? '' : 'min-h-[calc(100dvh-9rem)]'}>
          {session.isPending && <Loading />}
          {session.error && <ProblemNotice error={session.error} />}
          {!session.isPending && !session.error && owner === undefined && (
            <WithoutLink hadLink={link !== undefined} />
          )}
          {owner !== undefined && <Pages />}
        </div>
        <p className="mt-6 text-xs text-soft">{fill(portalWords.timeZone, { zone: timeZone })}</p>
      </main>
    </>
  )
}

function Header({
  owner,
  brand,
  onLeave,
}: {
  owner: string | undefined
  brand: ReturnType<typeof useBrand> | undefined
  onLeave: (() => void) | undefined
}) {
  return (
    <header className="border-b border-line bg-card">
      <a
        href="#content"
        className="sr-only rounded-md bg-card px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
      >
        {portalWords.skip}
      </a>
      <div className="mx-auto flex min-h-14 max-w-5xl items-center gap-3 px-4">
        <BrandMark brand={brand} />
        {owner !== undefined && <span className="truncate text-sm text-soft">{owner}</span>}
        {owner !== undefined && onLeave && (
          <Button small onClick={onLeave}>
            {portalWords.logOut}
          </Button>
        )}
      </div>
    </header>
  )
}

function Pages() {
  const { endpoint } = usePlace()
  useFocusOnContent(endpoint ?? '')
  return endpoint === undefined ? <EndpointsPage /> : <EndpointPage key={endpoint} id={endpoint} />
}
