// Which API key reaches which route, for every route that there is: the routes are read from the service, and what each asks
// for from its OpenAPI document, so that a new route is covered without a change here.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { scopes, type Scope } from '../../src/http/access/principal.ts'
import { engines, startedService } from '../harness/index.ts'

type Operation = { security?: Record<string, string[]>[] }

interface Route {
  method: string
  /** With `:id` and the like replaced. */
  path: string
  /** As the route declares it. */
  name: string
  security: Record<string, string[]>[]
}

const everyScope = Object.keys(scopes) as Scope[]
/** An id that nothing has. */
const absent = '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e'

const shelf = list({
  path: '/shelf',
  table: 'products',
  fields: { id: { type: 'text' } },
  key: 'id',
  access: 'admin',
  exports: true,
})

describe('scopes of API keys', () => {
  let routes: Route[]
  const keys = new Map<Scope, string>()

  // In demo mode some routes need no credential.
  const service = startedService(engines[0]!, () => ({
    env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
    config: { listing: { lists: [shelf] } },
  }))
  before(async () => {
    const document = (await service.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, Operation>>
    }>()
    routes = service.app.routeMethods.all().flatMap((declared) => {
      const [method = '', url = ''] = declared.split(' ')
      // Svix's API has its own OpenAPI document: test/emitting/svix/core.test.ts checks its access.
      if (method === 'OPTIONS' || url.includes('/api/v1/')) return []
      const described = document.paths[url.replace(/:(\w+)/g, '{$1}')]
      const operation = described?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
      const path = url.replace(/:(id|provider|\w+)/g, absent).replace('*', 'x')
      // What the document leaves out, such as files of pages, has to be public.
      return [{ method, path, name: declared, security: operation?.security ?? [] }]
    })
    const apiKeys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    for (const scope of everyScope)
      keys.set(scope, (await apiKeys.create({ name: scope, scopes: [scope] }, {})).key)
  })

  // The public address is another than the one that the service listens on here.
  const call = ({ method, path }: Route, key?: string) =>
    service.app.inject({
      method: method as 'GET',
      url: path,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      ...(method !== 'GET' && method !== 'HEAD' && { payload: {} }),
    })
  const scopesOf = ({ security }: Route): string[] => security.flatMap(({ bearer = [] }) => bearer)

  test('every admin route accepts keys with its scope or `admin`, and no others', async () => {
    const wrong: string[] = []
    let calls = 0
    for (const route of routes) {
      const named = scopesOf(route)
      if (named.length === 0) continue
      for (const scope of everyScope) {
        const response = await call(route, keys.get(scope))
        calls += 1
        const { statusCode: status } = response
        const refused = status === 403
        const allowed = scope === 'admin' || named.includes(scope)
        if (allowed ? status === 401 || refused || status >= 500 : !refused)
          wrong.push(`${route.name} with ${scope}: ${status}`)
        if (!refused || route.method === 'HEAD') continue
        const { code, detail } = response.json<{ code: string; detail: string }>()
        assert.equal(code, 'insufficient-scope', route.name)
        assert.ok(
          named.every((one) => detail.includes(one)),
          detail,
        )
        assert.equal(
          response.headers['www-authenticate'],
          `Bearer error="insufficient_scope", scope="${named[0]}"`,
        )
      }
    }
    assert.deepEqual(wrong, [])
    assert.ok(calls > 30 * everyScope.length, `only ${calls} calls`)
  })

  test('routes for users, browsers and owners accept no key, not even with `admin`', async () => {
    for (const route of routes) {
      if (route.security.length === 0 || scopesOf(route).length > 0) continue
      const { statusCode } = await call(route, keys.get('admin'))
      assert.ok([401, 403].includes(statusCode), `${route.name}: ${statusCode}`)
    }
  })

  test('exactly the routes that need a credential answer 401 without one', async () => {
    for (const route of routes) {
      const { statusCode: status } = await call(route)
      // The sender of a webhook has a signature to show, an app its credentials: both are answered 401 by the handler.
      if (/^POST \/(webhooks\/|auth\/token|oauth2\/)| \/oauth2\/userinfo$/.test(route.name)) continue
      // A form of a page, whose session has ended: the browser is led to the sign-in.
      if (route.name === 'POST /device') continue
      assert.equal(status === 401, route.security.length > 0, `${route.name}: ${status}`)
    }
  })

  test('each route has the right scope', () => {
    const named = Object.fromEntries(routes.map((route) => [route.name, scopesOf(route).join(' ')]))
    const expected: Record<string, string> = {
      'GET /events': 'events:read',
      'GET /events/:id': 'events:read',
      'GET /events/failed': 'events:read',
      'POST /events': 'events:write',
      'POST /events/reprocess': 'webhooks:write',
      'POST /events/:id/reprocess': 'webhooks:write',
      'GET /rejected-webhooks': 'webhooks:read',
      'GET /sources': 'webhooks:read',
      'GET /handlers': 'webhooks:read',
      'POST /handlers/:id/pause': 'webhooks:write',
      'GET /failures': 'events:read',
      'POST /events/:id/dry-run': 'webhooks:write',
      'POST /failures/:id/rerun': 'webhooks:write',
      'POST /sources/:name/sample': 'admin',
      'GET /subscribers': 'subscribers:read',
      'GET /deliveries/:id': 'subscribers:read',
      'POST /subscribers/:id/rotate-secret': 'subscribers:write',
      'POST /subscribers/:id/test': 'subscribers:write',
      'POST /deliveries/:id/replay': 'subscribers:write',
      'POST /portal-links': 'subscribers:write',
      'GET /users': 'users:read',
      'PATCH /users/:id': 'users:write',
      'GET /users.csv': 'users:read',
      'GET /users/:id': 'users:read',
      'GET /users/:id/audit': 'users:read',
      'GET /users/:id/apps': 'users:read',
      'GET /providers': 'users:read',
      'POST /providers/:name/check': 'users:write',
      'GET /clients/:id/sign-ins': 'clients:read',
      'DELETE /clients/:id/sign-ins/:signInId': 'clients:write',
      'GET /clients': 'clients:read',
      'POST /clients/:id/secrets': 'clients:write',
      'POST /products': 'lists:write',
      'DELETE /api/posts/:id': 'lists:write',
      'GET /shelf': 'lists:read',
      'GET /shelf.csv': 'lists:read',
      'GET /metrics': 'operate',
      'GET /audit': 'admin',
      'POST /keys': 'admin',
      'GET /products': '',
    }
    for (const [route, scope] of Object.entries(expected)) assert.equal(named[route], scope, route)
  })
})
