import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { bundleClient } from '../client/bundle.ts'
import { engines, freePort, startTestService, type TestService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { launchBrowser, type SuiteBrowser } from './browser.ts'

const signedIn = (page: Page): Promise<boolean> =>
  eventually(async () => (await page.title()).startsWith('Ada'), 'the tab is signed in')

/** Two tabs of one page, which keep their tokens in `localStorage`. */
describe('tabs that share the tokens of the client library', () => {
  let service: TestService
  let server: Server
  let browser: SuiteBrowser
  let context: BrowserContext
  let first: Page
  let second: Page
  const grants: string[] = []

  before(async () => {
    const port = await freePort()
    const site = `http://127.0.0.1:${port}/`
    service = await startTestService(engines[0]!, {
      config: { login: { clients: [{ id: 'spa', redirectUris: [site] }] } },
    })
    const settings = { url: service.baseUrl, clientId: 'spa', redirectUri: site, keep: 'local' }
    const script = `${await bundleClient('browser/index.ts', 'iife')}
      const page = client.createSignIn(${JSON.stringify(settings)})
      let changes = 0
      page.onChange(() => changes++)
      page.handleCallback().then(() => (document.title = page.getUser()?.name ?? 'nobody'))`
    server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<script>${script}</script>`)
    })
    await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
    browser = await launchBrowser()
    context = await browser.newContext()
    context.on('request', (request) => {
      if (!request.url().endsWith('/oauth2/token')) return
      grants.push(new URLSearchParams(request.postData() ?? '').get('grant_type') ?? '')
    })
    first = await context.newPage()
    await first.goto(site)
    await first.evaluate('void page.signIn()')
    await first.getByRole('link', { name: /development provider/ }).click()
    await first.getByText('Ada').first().click()
    await first.waitForURL(site)
    await signedIn(first)
    second = await context.newPage()
    await second.goto(site)
  })
  after(async () => {
    await browser?.close()
    server?.close()
    await service?.close()
  })

  test('the second tab is signed in, too', async () => {
    await signedIn(second)
    assert.deepEqual(grants, ['authorization_code'])
  })

  test('of tabs that renew at the same moment, one does, and the others take its tokens', async () => {
    await context.clock.setFixedTime(Date.now() + 14.75 * 60_000)
    const ask = (page: Page): Promise<string[]> =>
      page.evaluate('Promise.all([page.getAccessToken(), page.getAccessToken()])')
    const tokens = (await Promise.all([ask(first), ask(second)])).flat()
    assert.equal(tokens.length, 4)
    assert.equal(new Set(tokens).size, 1)
    assert.deepEqual(grants, ['authorization_code', 'refresh_token'])
  })

  test('a sign-out in one tab is one in all, and the tokens are refused by the service', async () => {
    const token: string = await second.evaluate('page.getAccessToken()')
    const before: number = await second.evaluate('changes')
    await first.evaluate('page.signOut({ local: true })')
    assert.equal(await second.evaluate('page.getUser()'), null)
    await eventually(
      async () => (await second.evaluate('changes')) === before + 1,
      'the other tab hears of it',
    )
    const { status } = await service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })
    assert.equal(status, 401)
  })
})
