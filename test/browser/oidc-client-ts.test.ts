// oidc-client-ts as it is, in a page of another origin: discovery, tokens and userinfo pass the browser's CORS checks.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { User } from 'oidc-client-ts'
import { engines, listening, started } from '../harness/index.ts'
import { useStockService } from '../oauth2/stock-clients/harness.ts'
import { launchBrowser } from './browser.ts'

// The build for browsers, beside the one that `import` finds.
const library = readFileSync(
  new URL('../browser/oidc-client-ts.min.js', import.meta.resolve('oidc-client-ts')),
)

describe('oidc-client-ts', () => {
  let app: Awaited<ReturnType<typeof listening>>
  let origin: string
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(async () => {
    const server = createServer((request, response) => {
      if (request.url === '/oidc.js') {
        response.end(library)
        return
      }
      const settings = {
        authority: stock.service.baseUrl,
        client_id: 'spa',
        redirect_uri: `${origin}/callback`,
        post_logout_redirect_uri: `${origin}/`,
        scope: 'openid email profile',
        loadUserInfo: true,
        automaticSilentRenew: false,
      }
      response.setHeader('content-type', 'text/html')
      response.end(
        `<!doctype html><title>app</title><script src="/oidc.js"></script><script>manager = new oidc.UserManager(${JSON.stringify(settings)})</script>`,
      )
    })
    app = await listening(server)
    origin = app.url
  })
  const stock = useStockService(engines[0]!, () => [
    { id: 'spa', redirectUris: [`${origin}/callback`], postLogoutRedirectUris: [`${origin}/`] },
  ])
  after(() => app.close())

  test('signs in, renews silently, and signs out', async () => {
    await page.goto(origin)
    await page.evaluate('void manager.signinRedirect()')
    await page.locator('a[href^="/auth/acme"]').click()
    await page.waitForURL(`${origin}/callback?*`)
    const user = await page.evaluate<User>('manager.signinCallback()')
    assert.deepEqual([user.profile.email, user.profile.name], ['ann@example.com', 'Ann'])

    const renewed = await page.evaluate<User>('manager.signinSilent()')
    assert.equal(renewed.profile.sub, user.profile.sub)
    assert.notEqual(renewed.access_token, user.access_token)
    assert.notEqual(renewed.refresh_token, user.refresh_token)

    await page.evaluate('void manager.signoutRedirect()')
    await page.waitForURL(`${origin}/`)
    const { status } = await stock.service.fetch('/oauth2/userinfo', {
      headers: { authorization: `Bearer ${renewed.access_token}` },
    })
    assert.equal(status, 401)
  })
})
