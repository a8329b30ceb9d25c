import {
  createContext,
  createElement,
  useContext,
  useEffect,
  useMemo,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react'
import type { PosternError } from '../errors.ts'
import type { PageUser, SessionSource } from './sources.ts'

interface Known {
  /** `failed`: the service did not answer; nobody is taken for signed out by that. */
  status: 'loading' | 'signed-in' | 'signed-out' | 'failed'
  user: PageUser | null
  error?: unknown
}

export interface PageSession extends Known {
  signIn: () => Promise<void>
  signOut: () => Promise<void>
  /** Asks again who is signed in. */
  refresh: () => Promise<void>
}

const SessionContext = createContext<PageSession | undefined>(undefined)

export interface ProviderProps {
  /** `cookieSource(…)` or `tokenSource(…)`, created once, outside of components. */
  source: SessionSource
  children?: ReactNode
}

/** Knows the session for all components below it. */
export function PosternProvider({ source, children }: ProviderProps): ReactElement {
  const [known, setKnown] = useState<Known>({ status: 'loading', user: null })
  const actions = useMemo(() => {
    const refresh = async (): Promise<void> => setKnown(await load(source))
    return {
      refresh,
      signIn: () => source.signIn(),
      async signOut(): Promise<void> {
        await source.signOut()
        await refresh()
      },
    }
  }, [source])
  useEffect(() => {
    void actions.refresh()
    return source.onChange?.(() => void actions.refresh())
  }, [source, actions])
  const session = useMemo(() => ({ ...known, ...actions }), [known, actions])
  return createElement(SessionContext.Provider, { value: session }, children)
}

async function load(source: SessionSource): Promise<Known> {
  try {
    const user = await source.load()
    return { status: user ? 'signed-in' : 'signed-out', user }
  } catch (error) {
    reportFailure('reading the session', error)
    return { status: 'failed', user: null, error }
  }
}

/** By the code of an error whose own message does not say what to do. */
const adviceOf: Readonly<Partial<Record<string, string>>> = {
  unreachable:
    'Check the url of the source, and CORS_ORIGINS if the page has another origin than the service.',
  'foreign-origin':
    'With cookieSource, only pages of the service’s own host can sign out. Other pages can use tokenSource.',
}

/** Says to the developer why something failed, of which the page shows little or nothing. */
export function reportFailure(what: string, error: unknown): void {
  const { code = 'error', message = String(error), requestId } = Object(error) as Partial<PosternError>
  const request = requestId === undefined ? '' : `, request ${requestId}`
  const advice = adviceOf[code] ?? message
  console.error(`postern-client: ${what} failed (${code}${request}). ${advice}`, error)
}

/** The session of the nearest PosternProvider. @throws Error without one. */
export function useSession(): PageSession {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession needs a <PosternProvider> above it')
  return session
}
