// Groups 4 and 5: an identity provider that is not the one that was asked, and answers that say from whom they are.
import { describe, test } from 'node:test'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { startOpenIdForger } from '#test/harness/openid-forger.ts'
import { assertFails } from '../login/harness.ts'
import { begin, withoutExchange } from './harness.ts'
import { startHonestProvider, type HonestProvider } from './honest-provider.ts'

describe('mix-up', () => {
  const honest = started(() => startHonestProvider({ openid: true }))
  const silent = started(() => startHonestProvider())
  const evilPlain = started(() => startHonestProvider())
  const evilOpenId = started(startOpenIdForger)
  const service = startedService(engines[0]!, () => ({
    env: {
      ...honest.env('HONEST'),
      ...silent.env('SILENT'),
      ...evilPlain.env('PLAIN'),
      ...evilOpenId.env('EVIL'),
    },
  }))

  /** What an evil authorization endpoint redirects to: an honest one, with the state of the sign-in that it was given. */
  function redirected(asked: URL, to: HonestProvider, callbackOf: string): URL {
    const url = new URL(`${to.url}/authorize${asked.search}`)
    url.searchParams.set('client_id', 'honest-client')
    url.searchParams.set('redirect_uri', `${service.baseUrl}/auth/${callbackOf}/callback`)
    return url
  }

  for (const evil of ['plain', 'evil']) {
    for (const target of ['honest', 'silent']) {
      test(`${evil} redirects the browser to ${target}: the response arrives at another callback and is refused`, async () => {
        const browser = new Browser()
        const asked = await begin(service, browser, `/auth/${evil}`)
        const victim = target === 'honest' ? honest : silent
        const callback = victim.approve(redirected(asked, victim, target), 'victim')
        await withoutExchange([honest, silent, evilPlain, evilOpenId], () =>
          assertFails(service, browser, callback, 'sign-in-expired'),
        )
      })
    }
    test(`${evil} makes a lax provider respond to its callback: a response with another issuer is refused before the exchange`, async () => {
      const browser = new Browser()
      const asked = await begin(service, browser, `/auth/${evil}`)
      const callback = honest.approve(redirected(asked, honest, evil), 'victim')
      await withoutExchange([honest, evilPlain, evilOpenId], () =>
        assertFails(service, browser, callback, 'provider-answer-invalid'),
      )
    })
  }

  test('a response without iss is refused if the provider advertises iss', async () => {
    const browser = new Browser()
    const asked = await begin(service, browser, '/auth/evil')
    const callback = silent.approve(redirected(asked, silent, 'evil'), 'victim')
    await withoutExchange([silent, evilOpenId], () =>
      assertFails(service, browser, callback, 'provider-answer-invalid'),
    )
  })

  const others: [name: string, iss: (right: string) => string][] = [
    ['with a slash more', (right) => `${right}/`],
    ['in another case', (right) => right.toUpperCase()],
    ['of another port', (right) => right.replace(/\d+$/, '9')],
    ['that only begins like it', (right) => `${right}.evil.example`],
    ['that has it as the user', (right) => `${right}@evil.example`],
    ['that is no address', () => 'evil'],
    ['of another scheme', (right) => right.replace('http:', 'https:')],
  ]
  for (const [name, iss] of others) {
    test(`an issuer ${name} is refused`, async () => {
      for (const [path, provider] of [
        ['/auth/honest', honest],
        ['/auth/silent', silent],
      ] as const) {
        // Of a plain provider only the origin is known, and that is compared as one.
        if (provider === silent && /slash|case/.test(name)) continue
        const browser = new Browser()
        const callback = provider.approve(await begin(service, browser, path), 'victim')
        callback.searchParams.set('iss', iss(provider.url))
        await withoutExchange([provider], () =>
          assertFails(service, browser, callback, 'provider-answer-invalid'),
        )
      }
    })
  }
})
