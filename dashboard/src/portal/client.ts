import { createClient, PosternError, type Client } from 'postern-client/api'
import type { AnswerOf, RowOf } from '../api/answers.ts'
import { problemText } from '../language/words.ts'
import { boot } from '../api/boot.ts'

/** Whether another page shows this one in a frame. Cookies are then neither sent nor read: docs/adr/0048. */
export const embedded = window.parent !== window

/** The token of a session in a frame. It is nowhere else, so a new loading of the frame needs a new link. */
let accessToken: string | undefined

export const api: Client = createClient({
  url: location.origin + boot.basePath,
  token: () => accessToken,
  ...(embedded && { fetch: (address, init) => fetch(address, { ...init, credentials: 'omit' }) }),
})

export type Session = Pick<AnswerOf<'POST /portal/session'>, 'owner' | 'name' | 'expiresAt' | 'brand'>
export type Subscriber = RowOf<'GET /portal/subscribers'>
export type SubscriberDetail = AnswerOf<'GET /portal/subscribers/{id}'>
export type EventType = RowOf<'GET /event-types'>
export type Delivery = RowOf<'GET /portal/subscribers/{id}/deliveries'>

/** The token of the link in the address, as its fragment. Other fragments name a part of the page. */
export function linkInAddress(): string | undefined {
  const fragment = location.hash.slice(1)
  return /^[\w-]{43}$/.test(fragment) ? fragment : undefined
}

/** Takes the token of the link out of the address, before anything else can read it there. */
export function takeLink(): string | undefined {
  const token = linkInAddress()
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return token
}

/**
 * Opens a link, or goes on with the session of this browser.
 * @param askToReplace whether to end the session of another owner, which `detail` names
 * @returns undefined without a session
 */
export async function enter(
  link: string | undefined,
  askToReplace: (detail: string) => Promise<boolean>,
): Promise<Session | undefined> {
  try {
    if (link !== undefined) return await open(link)
    return embedded ? undefined : await api.get('/portal/session')
  } catch (error) {
    if (isOver(error)) return undefined
    if (!(error instanceof PosternError)) throw error
    if (error.code !== 'other-portal-session' || link === undefined) throw error
    return (await askToReplace(problemText(error))) ? open(link, true) : api.get('/portal/session')
  }
}

async function open(token: string, replace = false): Promise<Session> {
  const { accessToken: granted, ...session } = await api.post('/portal/session', {
    body: { token, ...(embedded && { embedded }), ...(replace && { replace }) },
  })
  accessToken = granted
  return session
}

/** Ends the session. One that is over already is left as well. */
export async function leave(): Promise<void> {
  try {
    await api.delete('/portal/session')
  } catch (error) {
    if (!isOver(error)) throw error
  }
  accessToken = undefined
}

/** Whether a call was refused because there is no session any more. */
export const isOver = (error: unknown): boolean => error instanceof PosternError && error.status === 401
