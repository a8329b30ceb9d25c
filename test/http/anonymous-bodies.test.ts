// Nothing over 32 KiB, and no form of more than a thousand fields, is parsed for a caller that nobody has authenticated.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminKey, engines, startedService } from '../harness/index.ts'

const limit = 32 * 1024
const redirectUris = ['https://app.example.com/callback']

const service = startedService(engines[0]!, () => ({
  env: { CLIENT_REGISTRATION: 'open' },
  config: { login: { clients: [{ id: 'shop', secret: 'shop-secret-0123456789', redirectUris }] } },
}))
const form = 'application/x-www-form-urlencoded'
const post = (path: string, type: string, body: string, headers: Record<string, string> = {}) =>
  service.fetch(path, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': type, ...headers },
    body,
  })

const forms = `
  /oauth2/token /auth/token /oauth2/revoke /oauth2/introspect /oauth2/userinfo /oauth2/device_authorization
  /oauth2/end-session /oauth2/par /oauth2/authorize`
  .trim()
  .split(/\s+/)

for (const path of forms)
  test(`forms at ${path}`, async () => {
    const longer = await post(path, form, `a=${'x'.repeat(limit)}`)
    assert.equal(longer.status, 413, await longer.text())
    const many = await post(path, form, 'a&'.repeat(1_001))
    assert.equal(many.status, 400)
    assert.match(await many.text(), /more than 1,000 fields/)
    const fits = await post(path, form, `a=${'x'.repeat(limit - 2)}`)
    assert.notEqual(fits.status, 413)
    assert.ok(fits.status < 500, await fits.text())
  })

for (const path of [
  '/oauth2/token',
  '/oauth2/introspect',
  '/oauth2/revoke',
  '/portal/session',
  '/oauth2/register',
])
  test(`JSON at ${path}`, async () => {
    const longer = await post(path, 'application/json', JSON.stringify({ a: 'x'.repeat(limit) }))
    assert.equal(longer.status, 413, await longer.text())
  })

test('no other route parses a longer body for anybody', async () => {
  /** Those that answer 400 do not know the type, and the pages are for people who are signed in. */
  const expected: Record<string, number[]> = {
    'POST /oauth2/authorize': [413, 415],
    'POST /oauth2/par': [413, 400],
    'POST /oauth2/register': [400, 413],
    'POST /portal/session': [415, 413],
    'POST /device': [303, 303],
    'POST /oauth2/end-session/confirm': [200, 200],
  }
  const bodies = [
    [form, `a=${'x'.repeat(limit)}`],
    ['application/json', JSON.stringify({ a: 'x'.repeat(limit) })],
  ] as const
  const found: string[] = []
  for (const route of service.app.routeMethods.all()) {
    const [method = '', url = ''] = route.split(' ')
    // The verification of senders is in test/attacks/processor-time.test.ts.
    if (!['POST', 'PUT', 'PATCH'].includes(method) || /^\/(?:webhooks|demo-idp)\//.test(url)) continue
    const path = new URL(url.replaceAll(/:\w+/g, 'x'), service.baseUrl)
    for (const [index, [type, body]] of bodies.entries()) {
      const init = { method, headers: { 'content-type': type }, body, redirect: 'manual' } as const
      const { status } = await fetch(path, init)
      const usual = [401, 413, 404].includes(status)
      if (!usual && status !== expected[route]?.[index]) found.push(`${route} ${type}: ${status}`)
    }
  }
  assert.deepEqual(found, [])
})

test('a call with a credential may send a megabyte', async () => {
  const body = JSON.stringify({ type: 'large', data: 'x'.repeat(1_000_000) })
  assert.equal((await post('/events', 'application/json', body)).status, 401)
  const authorization = `Bearer ${adminKey}`
  assert.equal((await post('/events', 'application/json', body, { authorization })).status, 202)
})

test('a sign-out by a form redirects with its own fields alone, and to no address that no server takes', async () => {
  const answer = await post('/oauth2/end-session', form, `client_id=shop&state=x&junk=${'y'.repeat(20_000)}`)
  assert.equal(answer.status, 303)
  assert.equal(answer.headers.get('location'), '/oauth2/end-session?client_id=shop&state=x')
  const long = await post('/oauth2/end-session', form, `client_id=shop&state=${'y'.repeat(20_000)}`)
  assert.equal(long.status, 413)
  assert.match(await long.text(), /longer than 12288 bytes/)
})
