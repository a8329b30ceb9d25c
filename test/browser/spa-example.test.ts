import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { clientSources } from '../client/use-source.ts'
import { engines, freePort, started, startTestService, type TestService } from '../harness/index.ts'
import { launchBrowser } from './browser.ts'

const folder = join(import.meta.dirname, '../../examples/client/spa')
const audience = 'https://api.example.com'

/** The page of examples/client/spa, with the addresses of this test. */
async function startSite(port: number, settings: object): Promise<Server> {
  const build = await rolldown({
    input: join(folder, 'main.ts'),
    platform: 'browser',
    resolve: { alias: clientSources },
  })
  const { output } = await build.generate({ format: 'esm' })
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  const page = html.replace(
    '<title>',
    `<script>window.settings = ${JSON.stringify(settings)}</script><title>`,
  )
  const server = createServer((request, response) => {
    const isScript = request.url === '/main.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? output[0].code : page)
  })
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  return server
}

describe('examples/client/spa in a browser', () => {
  let service: TestService
  let api: FastifyInstance
  let server: Server
  let page: Page
  let site: string
  const grants: string[] = []

  const browser = started(launchBrowser)
  before(async () => {
    const port = await freePort()
    site = `http://127.0.0.1:${port}/`
    const spa = { id: 'spa', redirectUris: [site], postLogoutRedirectUris: [site], audience }
    service = await startTestService(engines[0]!, { config: { login: { clients: [spa] } } })
    const { createApi } = await import('../../examples/client/fastify/server.ts')
    api = createApi({ issuer: service.baseUrl, audience, allowedOrigin: site.slice(0, -1) })
    await api.listen({ host: '127.0.0.1', port: 0 })
    const apiUrl = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`
    server = await startSite(port, { postern: service.baseUrl, api: apiUrl })
    page = await browser.newPage()
    page.on('request', (request) => {
      if (!request.url().endsWith('/oauth2/token')) return
      grants.push(new URLSearchParams(request.postData() ?? '').get('grant_type') ?? '')
    })
  })
  after(async () => {
    server?.close()
    await api?.close()
    await service?.close()
  })

  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()

  test('a person signs in and is known by name; the code is gone from the address', async () => {
    await page.goto(site)
    await page.getByText('You are not signed in.').waitFor()
    await press('Sign in')
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada').first().click()
    await page.getByText(/You are Ada/).waitFor()
    assert.equal(page.url(), site)
    assert.deepEqual(await page.evaluate('[localStorage.length, sessionStorage.length]'), [0, 0])
  })

  test('the API takes the token, and a renewed one when the first ends', async () => {
    await press('Show my orders')
    await page.getByText('{"data":[]}').waitFor()
    assert.deepEqual(grants, ['authorization_code'])
    await page.clock.setFixedTime(Date.now() + 14.75 * 60_000)
    const isOfOrders = (request: { url(): string; method(): string }): boolean =>
      request.url().endsWith('/orders') && request.method() === 'GET'
    const [answer] = await Promise.all([
      page.waitForResponse((response) => isOfOrders(response.request())),
      press('Show my orders'),
    ])
    assert.equal(answer.status(), 200)
    assert.deepEqual(grants, ['authorization_code', 'refresh_token'])
    await page.clock.setFixedTime(Date.now())
  })

  test('after a reload nothing is asked while the session lives', async () => {
    await page.reload()
    await page.getByText('You are not signed in.').waitFor()
    await press('Sign in')
    await page.getByText(/You are Ada/).waitFor()
    assert.equal(page.url(), site)
  })

  test('after the sign-out the session is gone at the service, too', async () => {
    await press('Sign out')
    await page.waitForURL(site)
    await page.getByText('You are not signed in.').waitFor()
    await press('Sign in')
    await page.getByRole('link', { name: /development provider/ }).waitFor()
  })

  test('an answer that the page did not ask for is refused', async () => {
    await page.goto(`${site}?code=stolen&state=invented&iss=${encodeURIComponent(service.baseUrl)}`)
    await page.getByText('unknown-state').waitFor()
    await page.getByText('You are not signed in.').waitFor()
    assert.equal(page.url(), site)
  })
})
