// The answer of an authorization request as a form (`response_mode=form_post`), which the page's script sends.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { engines, listening, started } from '../harness/index.ts'
import { authorizeUrl } from '../oauth2/harness.ts'
import { useStockService } from '../oauth2/stock-clients/harness.ts'
import { launchBrowser } from './browser.ts'

describe('an answer as a form', () => {
  const stock = useStockService(engines[0]!)
  const received: { method: string; body: URLSearchParams }[] = []
  const browser = started(launchBrowser)
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      received.push({ method: request.method!, body: new URLSearchParams(body) })
      // An app usually redirects further, which `form-action` in the page's policy would stop.
      if (request.method === 'POST') response.writeHead(303, { location: '/inside' }).end()
      else response.end('inside')
    })
  })
  const app = started(() => listening(server))

  test('reaches the app by POST, after the sign-in', async () => {
    const origin = app.url
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
