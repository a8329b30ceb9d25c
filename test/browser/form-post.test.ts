// The answer of an authorization request as a form (`response_mode=form_post`), which the page's script sends.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { onEachEngine, started } from '../harness/index.ts'
import { authorizeUrl } from '../oauth2/harness.ts'
import { useStockService } from '../oauth2/stock-clients/harness.ts'
import { launchBrowser } from './browser.ts'

onEachEngine('an answer as a form', (engine) => {
  const stock = useStockService(engine)
  let app: Server
  const received: { method: string; body: URLSearchParams }[] = []
  const browser = started(launchBrowser)
  before(async () => {
    app = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        received.push({ method: request.method!, body: new URLSearchParams(body) })
        // An app usually redirects further, which `form-action` in the page's policy would stop.
        if (request.method === 'POST') response.writeHead(303, { location: '/inside' }).end()
        else response.end('inside')
      })
    }).listen(0, '127.0.0.1')
    await once(app, 'listening')
  })
  after(async () => {
    app.close()
    app.closeAllConnections()
  })

  test('reaches the app by POST, after the sign-in', async () => {
    const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`
    const page = await browser.newPage()
    const more = {
      client_id: 'native',
      redirect_uri: `${origin}/callback`,
      response_mode: 'form_post',
      state: '"><script>',
    }
    await page.goto(authorizeUrl(stock.service, more).href)
    await page.locator('a[href^="/auth/acme"]').click()
    await page.waitForURL(`${origin}/inside`)
    const [{ method, body } = { method: 'none', body: new URLSearchParams() }] = received
    assert.equal(method, 'POST')
    assert.deepEqual([body.get('state'), body.get('iss')], ['"><script>', stock.service.baseUrl])
    assert.match(body.get('code') ?? '', /^[\w-]{43}$/)
  })
})
