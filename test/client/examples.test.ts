// examples/client against the service. Next.js itself is not run: its files are called with Web requests, as it does.
import './use-source.ts'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { Browser, each, engines, started, startedService, startOAuthProvider } from '../harness/index.ts'
import { appTokens, signIn, spa } from '../login/harness.ts'

const audience = 'https://api.example.com'
const shop = { id: 'shop', redirectUris: spa.redirectUris, audience }

describe('examples/client', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [spa, shop] } },
  }))
  before(async () => {
    process.env['POSTERN_URL'] = service.baseUrl
  })

  async function newToken(clientId: string): Promise<string> {
    const body = await appTokens(service, { client_id: clientId })
    return String(body['access_token'])
  }

  describe('the Fastify API', () => {
    let api: FastifyInstance
    before(async () => {
      const { createApi } = await import('../../examples/client/fastify/server.ts')
      api = createApi({ issuer: service.baseUrl, audience, allowedOrigin: 'https://app.example.com' })
    })
    after(() => api.close())
    const ask = (token?: string, payload?: object) =>
      api.inject({
        method: payload === undefined ? 'GET' : 'POST',
        url: '/orders',
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        ...(payload !== undefined && { payload }),
      })

    test('takes the tokens of its own apps', async () => {
      const token = await newToken('shop')
      assert.equal((await ask(token, { item: 'tea' })).statusCode, 201)
      const { data } = (await ask(token)).json<{ data: { item: string }[] }>()
      assert.deepEqual(each(data, 'item'), ['tea'])
    })

    test('refuses tokens for another audience, changed tokens, and requests without one', async () => {
      const token = await newToken('shop')
      for (const refused of [await newToken('spa'), `${token.slice(0, -4)}AAAA`, undefined]) {
        const { statusCode, headers } = await ask(refused)
        assert.equal(statusCode, 401)
        assert.match(String(headers['www-authenticate']), /^Bearer/)
      }
      assert.equal((await api.inject('/health')).statusCode, 200)
    })

    test('lets pages of its app call it', async () => {
      const { headers, statusCode } = await api.inject({ method: 'OPTIONS', url: '/orders' })
      assert.equal(statusCode, 204)
      assert.equal(headers['access-control-allow-origin'], 'https://app.example.com')
    })
  })

  describe('the Next.js application', () => {
    const page = 'https://shop.example.com/account/orders?page=2'
    const request = (cookie: string): Request => new Request(page, { headers: { cookie } })

    test('its middleware and its route handlers know the user of the cookie', async () => {
      const { proxy, config } = await import('../../examples/client/next/proxy.ts')
      const { GET, DELETE } = await import('../../examples/client/next/app/api/orders/route.ts')
      const browser = new Browser()
      await signIn(service, browser)
      const cookie = [...browser.cookies(service.baseUrl)]
        .map(([name, value]) => `${name}=${value}`)
        .join('; ')
      assert.deepEqual(config.matcher, ['/account/:path*'])
      assert.equal(await proxy(request(cookie)), undefined)
      const redirect = (await proxy(request('')))!
      assert.equal(redirect.status, 307)
      const location = new URL(redirect.headers.get('location')!)
      assert.equal(location.pathname, '/gate/login')
      assert.equal(location.searchParams.get('return_to'), '/account/orders?page=2')
      const answer = await GET(request(cookie), {})
      assert.equal(answer.status, 200)
      const { owner } = (await answer.json()) as { owner: string }
      assert.match(owner, /./)
      assert.equal((await GET(request(''), {})).status, 401)
      assert.equal((await DELETE(request(cookie), {})).status, 403)
    })
  })
})
