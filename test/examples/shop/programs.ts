// The environment of the programs of examples/shop, and what people do in a browser.
import { join } from 'node:path'
import { childEnvironment } from '../../harness/child-environment.ts'
import type { Browser } from '../../harness/browser.ts'

/** For Node.js: where imports of the packages lead. */
export const withPackages = `--import=${join(import.meta.dirname, 'use-packages.ts')}`

/** What processes get beside their own settings. */
export function programEnvironment(home: string): Record<string, string> {
  const installed = process.env['POSTERN_PACKAGE']
  return {
    ...childEnvironment(),
    HOME: home,
    NODE_OPTIONS: withPackages,
    ...(installed !== undefined && { POSTERN_PACKAGE: installed }),
  }
}

/** Signs in with the development provider, from the page of the shop and back to it. @returns the id of the user */
export async function signIn(browser: Browser, base: string, person: string): Promise<string> {
  const { url } = await browser.follow(`${base}/auth/demo?return_to=/`)
  const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person }) })
  const end = await browser.follow(new URL(chosen.headers.get('location')!, url))
  if (end.url.href !== `${base}/`) throw new Error(`the sign-in ended at ${end.url.href}`)
  const { user } = (await (await browser.go(`${base}/auth/session`)).json()) as { user: { id: string } }
  return user.id
}

/** What the button Webhooks of the page and the form of the portal do. @returns the signing secret */
export async function addEndpoint(browser: Browser, base: string, url: string): Promise<string> {
  const post = (path: string, body?: object): Promise<Response> =>
    browser.go(base + path, {
      method: 'POST',
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  const link = (await (await post('/portal-link')).json()) as { url: string }
  const opened = await post('/portal/session', { token: new URL(link.url).hash.slice(1) })
  if (opened.status >= 300) throw new Error(`the portal answered ${opened.status}: ${await opened.text()}`)
  const added = await post('/portal/subscribers', { url, eventTypes: ['order.paid'] })
  const { secret } = (await added.json()) as { secret?: string }
  if (secret === undefined) throw new Error(`the portal answered ${added.status}`)
  return secret
}
