import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Browser, started } from '#test/harness/index.ts'
import { whoAmI } from './harness.ts'
import { startQuirks } from './quirks.ts'
import { finish, identityOf, toAnswer } from './shaped-sign-in.ts'

const quirks = started(() =>
  startQuirks([
    ['apple', 'apple'],
    ['posting', 'google', { AUTH_PARAMS: 'response_mode=form_post' }],
  ]),
)
afterEach(() => quirks.reset())

const begin = async (browser: Browser): Promise<string> =>
  (await browser.go(new URL('/auth/apple', quirks.service.baseUrl))).headers.get('location')!
const post = (fields: Record<string, string> | string): Promise<Response> =>
  quirks.service.fetch('/auth/apple/callback', { method: 'POST', body: new URLSearchParams(fields) })

test('the name, which is sent only at the first sign-in, stays stored', async () => {
  const browser = new Browser()
  assert.equal(await quirks.outcome('apple', browser), '/dashboard')
  quirks.change('apple', { form: () => ({}) })
  assert.equal(await quirks.outcome('apple', browser), '/dashboard')
  assert.equal((await identityOf(quirks.service, 'apple')).name, 'Ada Lovelace')
  assert.equal((await whoAmI(quirks.service, browser))!.name, 'Ada Lovelace')
})

test('the POST alone signs nobody in: without the cookie the following GET fails', async () => {
  const callback = await toAnswer(await begin(new Browser()))
  const target = await finish(quirks.service, new Browser(), callback)
  assert.match(target, /^\/login\?error=sign-in-expired&/)
  assert.equal(quirks.provider('apple').to('/auth/token').length, 0)
})

test('only state, code, error, iss and the name of the form are passed on', async () => {
  const state = 'S'.repeat(43)
  const user = JSON.stringify({ name: { firstName: 'A', lastName: 7 }, email: 'evil@example.com' })
  const answer = await post({ state, code: 'c', id_token: 'x.y.z', scope: 'admin', user })
  assert.equal(answer.status, 303)
  assert.equal(answer.headers.get('location'), `/auth/apple/callback?state=${state}&code=c&name=A`)
  assert.equal(answer.headers.getSetCookie().length, 0)
})

const shapes: [string, Record<string, string> | string, number][] = [
  ['no state', { code: 'c' }, 400],
  ['a state of another form', { state: 'x', code: 'c' }, 400],
  ['a state with a line break', { state: `${'S'.repeat(42)}\n`, code: 'c' }, 400],
  ['two states', `state=${'S'.repeat(43)}&state=${'T'.repeat(43)}&code=c`, 400],
  ['a code without end', { state: 'S'.repeat(43), code: 'c'.repeat(5_000) }, 400],
  ['more than 32 KiB', { state: 'S'.repeat(43), junk: 'c'.repeat(33_000) }, 413],
  ['more than a query can have', { state: 'S'.repeat(43), code: '\u0416'.repeat(2_100) }, 413],
]
for (const [what, fields, status] of shapes) {
  test(`a form with ${what} is refused`, async () => {
    assert.equal((await post(fields)).status, status)
  })
}

for (const user of ['{', '[]', '7', '{"name":"x"}', '{"name":{"firstName":{"a":1}}}', '{"name":null}']) {
  test(`a user field of ${user} gives no name and no failure`, async () => {
    const answer = await post({ state: 'S'.repeat(43), code: 'c', user })
    assert.equal(
      new URL(answer.headers.get('location')!, quirks.service.baseUrl).searchParams.get('name'),
      null,
    )
  })
}

test('the explanation of an error is passed on for the log, cut', async () => {
  const state = 'S'.repeat(43)
  const answer = await post({ state, error: 'invalid_request', error_description: 'd'.repeat(2_000) })
  const { searchParams } = new URL(answer.headers.get('location')!, quirks.service.baseUrl)
  assert.deepEqual([...searchParams.keys()], ['state', 'error', 'error_description'])
  assert.equal(searchParams.get('error_description')!.length, 500)
})

test('a cancelled sign-in also responds with a form', async () => {
  const browser = new Browser()
  const state = new URL(await begin(browser)).searchParams.get('state')!
  const led = await post({ state, error: 'user_cancelled_authorize' })
  const target = await finish(
    quirks.service,
    browser,
    new URL(led.headers.get('location')!, quirks.service.baseUrl),
  )
  assert.match(target, /^\/login\?error=access-denied&/)
})

test('another provider may be asked for a form', async () => {
  quirks.change('posting', { form: () => ({ session_state: 'x' }) })
  assert.equal(await quirks.outcome('posting'), '/dashboard')
  const [asked] = quirks.provider('posting').to('/o/oauth2/v2/auth')
  assert.equal(asked!.url.searchParams.get('response_mode'), 'form_post')
})

test('a form for an unknown provider is refused', async () => {
  const init = { method: 'POST', body: new URLSearchParams({ state: 'S'.repeat(43), code: 'c' }) }
  assert.equal((await quirks.service.fetch('/auth/github/callback', init)).status, 404)
  assert.equal((await quirks.service.fetch('/auth/nobody/callback', init)).status, 404)
})

for (const [flag, verified] of [
  ['true', true],
  [true, true],
  ['false', false],
  [1, false],
] as const) {
  test(`email_verified of ${JSON.stringify(flag)} means ${verified}`, async () => {
    quirks.change('apple', { claims: { sub: '1.2.3', email: 'a@example.com', email_verified: flag } })
    assert.equal(await quirks.outcome('apple'), '/dashboard')
    assert.equal((await identityOf(quirks.service, 'apple')).verified, verified)
  })
}
