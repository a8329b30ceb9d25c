// Groups 6 and 8: codes that were made for another sign-in, and requests whose protection was taken off on the way.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { assertFails, assertRefused, whoAmI } from '../login/harness.ts'
import { begin, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

for (const openid of [false, true]) {
  describe(openid ? 'codes of OpenID Connect' : 'codes of plain OAuth 2.0', () => {
    const provider = started(() => startHonestProvider({ openid }))
    const service = startedService(engines[0]!, () => ({ env: provider.env('ACME') }))

    test("a stolen code is refused in the attacker's own sign-in", async () => {
      const [attacker, victim] = [new Browser(), new Browser()]
      const stolen = provider.approve(await begin(service, victim), 'victim')
      const own = provider.approve(await begin(service, attacker), 'attacker')
      own.searchParams.set('code', stolen.searchParams.get('code')!)
      await assertFails(service, attacker, own, 'provider-refused')
    })

    test("the attacker's code is refused in the victim's sign-in, and the victim's session stays", async () => {
      const [attacker, victim] = [new Browser(), new Browser()]
      await signInAs(service, victim, provider, 'victim')
      const injected = provider.approve(await begin(service, attacker), 'attacker').searchParams.get('code')!
      const callback = provider.approve(await begin(service, victim), 'victim')
      callback.searchParams.set('code', injected)
      await assertRefused(service, victim, callback, 'provider-refused')
      assert.equal((await whoAmI(service, victim))!.name, 'victim')
    })

    test('the code of another tab of the same browser is refused', async () => {
      const browser = new Browser()
      const [first, second] = [await begin(service, browser), await begin(service, browser)]
      const callbacks = [provider.approve(first, 'one'), provider.approve(second, 'two')] as const
      const [one, two] = callbacks.map(({ searchParams }) => searchParams.get('code')!) as [string, string]
      callbacks[0].searchParams.set('code', two)
      callbacks[1].searchParams.set('code', one)
      for (const callback of callbacks) await assertFails(service, browser, callback, 'provider-refused')
    })

    test('a used code is refused with every other state', async () => {
      const browser = new Browser()
      const callback = provider.approve(await begin(service, browser), 'replayed')
      await browser.go(callback)
      const again = provider.approve(await begin(service, browser), 'replayed')
      again.searchParams.set('code', callback.searchParams.get('code')!)
      await assertRefused(service, browser, again, 'provider-refused')
    })

    const downgrades: [name: string, change: (asked: URLSearchParams) => void][] = [
      ['without its challenge', (asked) => asked.delete('code_challenge')],
      ['with a challenge of the attacker', (asked) => asked.set('code_challenge', 'A'.repeat(43))],
    ]
    for (const [name, change] of downgrades) {
      test(`PKCE: an authorization request that arrives ${name} fails, because the verifier is still sent`, async () => {
        const browser = new Browser()
        const asked = await begin(service, browser)
        change(asked.searchParams)
        await assertFails(service, browser, provider.approve(asked, 'downgraded'), 'provider-refused')
        assert.match(provider.tokenRequests.at(-1)!.get('code_verifier') ?? '', /^[\w-]{43}$/)
      })
    }

    test('PKCE: no parameter of GET /auth/{provider} changes challenge, method, nonce or redirect URI', async () => {
      const query = new URLSearchParams({
        redirect_uri: 'https://evil.example/',
        response_type: 'token',
        response_mode: 'fragment',
        scope: 'admin',
        nonce: 'n',
        state: 's',
        prompt: 'none',
        request: 'x',
        request_uri: 'https://evil.example/',
      })
      const plain = (await begin(service, new Browser())).searchParams
      const asked = (await begin(service, new Browser(), `/auth/acme?${query.toString()}`)).searchParams
      assert.deepEqual([...asked.keys()], [...plain.keys()])
      for (const name of ['client_id', 'redirect_uri', 'response_type', 'scope', 'code_challenge_method'])
        assert.deepEqual(asked.getAll(name), plain.getAll(name), name)
      for (const given of ['s', 'n', 'x']) assert.ok(![...asked.values()].includes(given), given)
    })
  })
}
