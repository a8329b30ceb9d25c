// Tabs of a browser that wakes: all of them ask for a sign-in at the same moment. And people who click twice.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { engines, freePort, rowsOf, started, startOAuthProvider } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { authorizeUrl } from '../oauth2/harness.ts'
import { launchBrowser } from './browser.ts'

describe('tabs that begin at the same moment', () => {
  const provider = started(startOAuthProvider)
  const browser = started(launchBrowser)
  let service: TestService
  let app: Server
  let site: string

  before(async () => {
    const port = await freePort()
    site = `http://127.0.0.1:${port}/callback`
    app = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>The app</h1>')
    })
    await new Promise<void>((listening) => app.listen(port, '127.0.0.1', listening))
    service = await startTestService(engines[0]!, {
      env: provider.env('ACME'),
      config: { login: { clients: [{ id: 'spa', redirectUris: [site] }] } },
    })
  })
  after(async () => {
    app?.close()
    await service?.close()
  })

  /** How often the service exchanged this code of the provider. */
  const exchanges = (code: string): number =>
    provider.tokenRequests().filter(({ body }) => new URLSearchParams(body).get('code') === code).length

  test('four tabs without a cookie all reach the app', async () => {
    provider.profile = { id: 'restored' }
    for (let run = 0; run < 3; run += 1) {
      const context = await browser.newContext()
      const pages = await Promise.all(Array.from({ length: 4 }, () => context.newPage()))
      const start = authorizeUrl(service, { redirect_uri: site, provider: 'acme' }).href
      await Promise.all(pages.map((page) => page.goto(start)))
      for (const page of pages) assert.match(page.url(), /\/callback\?code=/)
      await context.close()
    }
    // A tab needs no sign-in after another one's, and a second one if another replaces its session midway. No code is sent twice.
    const codes = provider.tokenRequests().map(({ body }) => new URLSearchParams(body).get('code')!)
    assert.equal(new Set(codes).size, codes.length)
  })

  test('a double click at the provider, and the same link again after "Back", sign in once', async () => {
    provider.profile = { id: 'impatient' }
    const context = await browser.newContext()
    const page = await context.newPage()
    // The requests share the cookies of the pages.
    let back = authorizeUrl(service, { redirect_uri: site, provider: 'acme' }).href
    while (!back.includes('/auth/acme/callback?')) {
      const answer = await context.request.get(back, { maxRedirects: 0 })
      back = new URL(answer.headers()['location']!, back).href
    }
    const atProvider = `<a href="${back}">Continue</a>`
    await page.setContent(atProvider)
    await page.getByRole('link', { name: 'Continue' }).dblclick()
    await page.waitForURL(/\/callback\?code=/)
    assert.equal(exchanges(new URL(back).searchParams.get('code')!), 1)
    const sessions = async () => (await rowsOf(service, 'sessions', { revoked_at: null })).length
    const before = await sessions()
    const first = page.url()
    await page.setContent(atProvider)
    await page.getByRole('link', { name: 'Continue' }).click()
    // The app has not used its code, so the same one comes again.
    await page.waitForURL(first)
    assert.equal(await sessions(), before)
    assert.equal(exchanges(new URL(back).searchParams.get('code')!), 1)
    await context.close()
  })
})
