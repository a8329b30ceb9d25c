// Groups 1 to 3 of the attacks: states that are not one's own.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, scoped, started, startedService } from '#test/harness/index.ts'
import { assertFails, assertRefused, whoAmI } from '../login/harness.ts'
import { startQuirks } from '../login/quirks.ts'
import { begin, signInAs, withoutExchange } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

describe('states of others', () => {
  const provider = started(startHonestProvider)
  const service = startedService(engines[0]!, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER') },
  }))

  test("login CSRF: the attacker's callback changes nothing for a user who is signed in or signing in", async () => {
    const [attacker, victim] = [new Browser(), new Browser()]
    const bait = provider.approve(await begin(service, attacker), 'attacker')
    await withoutExchange([provider], () => assertFails(service, victim, bait, 'sign-in-expired'))
    await signInAs(service, victim, provider, 'victim')
    const ownTab = await begin(service, victim)
    await withoutExchange([provider], () => assertRefused(service, victim, bait, 'sign-in-expired'))
    const finished = await victim.go(provider.approve(ownTab, 'victim'))
    assert.equal(finished.headers.get('location'), '/dashboard', "the victim's own tab is not disturbed")
    assert.equal((await whoAmI(service, victim))!.name, 'victim')
  })

  test('login CSRF by a form of another site, for a provider with form_post', async () => {
    await using quirks = scoped(await startQuirks([['apple', 'apple']]))
    const [attacker, victim] = [new Browser(), new Browser()]
    const { service: gate } = quirks
    await begin(gate, victim, '/auth/apple')
    const state = (await begin(gate, attacker, '/auth/apple')).searchParams.get('state')!
    const posted = await victim.go(new URL('/auth/apple/callback', gate.baseUrl), {
      method: 'POST',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ state, code: 'of-the-attacker' }),
    })
    assert.equal(posted.status, 303)
    const callback = new URL(posted.headers.get('location')!, gate.baseUrl)
    await assertFails(gate, victim, callback, 'sign-in-expired')
    assert.equal(quirks.provider('apple').to('/auth/token').length, 0)
  })

  test('a state is refused without the binding cookie, or with another one', async () => {
    for (const other of [undefined, 'A'.repeat(43), '', 'x', '%00']) {
      const browser = new Browser()
      const callback = provider.approve(await begin(service, browser), 'cookie')
      const cookies = browser.cookies(service.baseUrl)
      for (const name of [...cookies.keys()].filter((one) => one.startsWith('postern_browser-'))) {
        if (other === undefined) cookies.delete(name)
        else cookies.set(name, other)
      }
      await withoutExchange([provider], () => assertFails(service, browser, callback, 'sign-in-expired'))
    }
  })

  const spellings: [name: string, change: (query: string) => string][] = [
    ['a second state under an encoded name', (query) => `${query}&%73tate=x`],
    ['a second code under an encoded name', (query) => `${query}&c%6fde=x`],
    ['a state as a list', (query) => query.replace('state=', 'state[]=')],
    ['a state in another case', (query) => query.replace('state=', 'STATE=')],
    ['a state with a space after it', (query) => query.replace(/state=([\w-]+)/, 'state=$1+')],
    ['a state with a NUL after it', (query) => query.replace(/state=([\w-]+)/, 'state=$1%00')],
    [
      'a state of 10,000 characters',
      (query) => query.replace(/state=([\w-]+)/, `state=${'x'.repeat(10_000)}`),
    ],
    ['no parameters', () => ''],
  ]
  for (const [name, change] of spellings) {
    test(`${name} does not bypass the check`, async () => {
      const browser = new Browser()
      const callback = provider.approve(await begin(service, browser), 'spelling')
      const changed = new URL(callback.origin + callback.pathname + change(callback.search))
      const code = name.includes('second code') ? 'provider-answer-invalid' : 'sign-in-expired'
      await withoutExchange([provider], () => assertFails(service, browser, changed, code))
    })
  }

  test('a state of one provider is refused at every other, and stays valid at its own', async () => {
    const browser = new Browser()
    const callback = provider.approve(await begin(service, browser), 'crossed')
    const crossed = new URL(callback.href.replace('/auth/acme/', '/auth/other/'))
    await withoutExchange([provider], () => assertFails(service, browser, crossed, 'sign-in-expired'))
    for (const path of ['/auth/ACME/callback', '/auth/acme%2Fcallback', '/auth/nobody/callback']) {
      const unknown = await browser.go(new URL(path + callback.search, service.baseUrl))
      assert.equal(unknown.status, 404)
    }
    assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
  })
})
