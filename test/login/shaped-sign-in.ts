// A sign-in by a provider of test/harness/shaped-provider.ts, step by step.
import assert from 'node:assert/strict'
import type { Browser } from '#test/harness/browser.ts'
import type { TestService } from '#test/harness/service.ts'
import { rowsOf } from '#test/harness/rows.ts'

/** Opens the provider's page; gives the callback that it leads back to, by a redirect or, like Apple, by a form. */
export async function toAnswer(authorization: string): Promise<URL> {
  const page = await fetch(authorization, { redirect: 'manual' })
  const location = page.headers.get('location')
  if (location !== null) return new URL(location)
  assert.equal(page.status, 200)
  const { action, fields } = (await page.json()) as { action: string; fields: Record<string, string> }
  // From another site, so without a cookie.
  const posted = await fetch(action, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin: 'https://appleid.apple.com', 'sec-fetch-site': 'cross-site' },
    redirect: 'manual',
  })
  assert.equal(posted.status, 303)
  assert.equal(posted.headers.get('cache-control'), 'no-store')
  return new URL(posted.headers.get('location')!, action)
}

/** Calls the callback; gives where it leads to. */
export async function finish(service: TestService, browser: Browser, callback: URL): Promise<string> {
  assert.equal(callback.origin, service.baseUrl)
  const answer = await browser.go(callback)
  assert.equal(answer.status, 303)
  return answer.headers.get('location')!
}

/** A whole sign-in; gives where it leads to. */
export async function signInShaped(service: TestService, browser: Browser, name: string): Promise<string> {
  const start = await browser.go(new URL(`/auth/${name}`, service.baseUrl))
  assert.equal(start.status, 303)
  return finish(service, browser, await toAnswer(start.headers.get('location')!))
}

export interface KnownIdentity {
  providerId: string
  name: string | null
  email: string | null
  verified: boolean
}

/** The identity of this provider that was used last. */
export async function identityOf(service: TestService, provider: string): Promise<KnownIdentity> {
  const row = (await rowsOf(service, 'identities', { provider }, 'last_used_at')).at(-1)!
  const { provider_id: providerId, name, email, email_verified: verified } = row
  return { providerId, name, email, verified: verified === 1 }
}
