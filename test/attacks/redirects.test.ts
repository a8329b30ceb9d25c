// Groups 16 and 17: getting the browser, or the provider's answer, to another place.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { Browser, engines, started, startedService, startTestService } from '#test/harness/index.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import { appStart, newPkce, spa } from '../login/harness.ts'
import { assertProblem, begin, beginLink, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

describe('redirects', () => {
  const provider = started(startHonestProvider)
  const service = startedService(engines[0]!, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER') },
    config: { login: { clients: [spa] } },
  }))

  /** As it stands in the address, so encoded once where the name says no more. */
  const hostile: [name: string, query: (port: string) => string][] = [
    ['another host', () => 'return_to=//evil.example'],
    ['another host, encoded', () => 'return_to=%2F%2Fevil.example'],
    ['another host, three slashes', () => 'return_to=///evil.example'],
    ['a backslash', () => 'return_to=/%5Cevil.example'],
    ['a bare backslash', () => 'return_to=/\\evil.example'],
    ['two backslashes', () => 'return_to=%5C%5Cevil.example'],
    ['a scheme without slashes', () => 'return_to=https:evil.example'],
    ['a whole address', () => 'return_to=https://evil.example/'],
    ['our scheme without slashes', () => 'return_to=http:/evil.example'],
    ['a tab', () => 'return_to=/%09/evil.example'],
    ['a line break and a header', () => 'return_to=/%0d%0aLocation:%20https://evil.example'],
    ['a line feed', () => 'return_to=/%0a/evil.example'],
    ['a leading space', () => 'return_to=%20//evil.example'],
    ['a leading control character', () => 'return_to=%01//evil.example'],
    ['javascript', () => 'return_to=javascript:alert(1)'],
    ['javascript behind a slash', () => 'return_to=/%0ajavascript:alert(1)'],
    ['data', () => 'return_to=data:text/html,x'],
    ['a user', () => 'return_to=@evil.example'],
    ['ourselves as the user', (port) => `return_to=http://127.0.0.1:${port}@evil.example/`],
    ['a sub-domain that begins like us', (port) => `return_to=http://127.0.0.1:${port}.evil.example/`],
    ['another port', () => 'return_to=http://127.0.0.1:1/'],
    ['a trailing dot', (port) => `return_to=http://127.0.0.1.:${port}/`],
    ['another name of this host', (port) => `return_to=http://localhost:${port}/`],
    ['an ideographic full stop', () => 'return_to=//evil%E3%80%82example'],
    ['a full-width slash', () => 'return_to=%EF%BC%8F%EF%BC%8Fevil.example'],
    ['dots that leave two slashes', () => 'return_to=/x/..//evil.example'],
    ['an encoded dot that leaves two slashes', () => 'return_to=/%252e//evil.example'],
    ['a dot that leaves two slashes', () => 'return_to=/.//evil.example'],
    ['an empty host', () => 'return_to=/%2F%2F%2Fevil.example'],
    ['a list', () => 'return_to[]=//evil.example'],
    ['the bad one first', () => 'return_to=//evil.example&return_to=/ok'],
    ['an encoded name', () => '%72eturn_to=//evil.example'],
    ['very long', () => `return_to=/${'a'.repeat(5_000)}`],
    ['NUL', () => 'return_to=/%00//evil.example'],
    ['broken percent', () => 'return_to=/%'],
    ['a fragment of a host', () => 'return_to=%23//evil.example'],
    ['a query of a host', () => 'return_to=?//evil.example'],
  ]

  test('return_to never leads to another site: after a sign-in, after a link and on /login', async () => {
    const { port, origin } = new URL(service.baseUrl)
    const isOurs = (target: string, name: string): void => {
      const url = new URL(target, origin)
      assert.equal(url.origin, origin, `${name}: ${target}`)
      assert.match(target, /^\/(?![/\\])/, `${name}: ${target}`)
      assert.ok(!url.pathname.startsWith('//'), `${name}: ${target}`)
    }
    const linker = new Browser()
    await signInAs(service, linker, provider, 'linker')
    for (const [name, query] of hostile) {
      const bad = query(port)
      const browser = new Browser()
      const path = `/auth/acme?${bad}`
      const isTwice = new URLSearchParams(bad).getAll('return_to').length > 1
      if (isTwice) await assertProblem(await service.fetch(path), 400, 'invalid-parameter')
      else isOurs(await signInAs(service, browser, provider, 'redirected', path), name)
      const callback = provider.approve(await beginLink(service, linker, `/auth/other/link?${bad}`), 'linked')
      isOurs((await linker.go(callback)).headers.get('location')!, name)
      const page = await (await service.fetch(`/login?${bad}`)).text()
      for (const [, href] of page.matchAll(/(?:href|action|content)="([^"]*)"/g)) {
        const url = URL.canParse(href!, origin) ? new URL(href!, origin) : undefined
        const wanted = url?.searchParams.get('return_to')
        if (wanted) isOurs(wanted, `/login, ${name}`)
      }
    }
  })

  test('a path that contains an encoded address stays a path', async () => {
    for (const [query, target] of [
      ['return_to=/a?next=https://evil.example', '/a?next=https://evil.example'],
      ['return_to=/%252f%252fevil.example', '/%2f%2fevil.example'],
      ['return_to=/a%23//evil.example', '/a#//evil.example'],
      ['return_to=/@evil.example', '/@evil.example'],
    ]) {
      const path = `/auth/acme?${query}`
      assert.equal(await signInAs(service, new Browser(), provider, 'kept', path), target)
    }
  })

  test('a redirect URI must match a registered one exactly', async () => {
    const before = await service.database.reader.selectFrom('flows').selectAll().execute()
    for (const uri of [
      'evil.app:/callback',
      'com.example.app:/callback/',
      'com.example.app:/callback#x',
      'com.example.app.evil:/callback',
      'COM.EXAMPLE.APP:/callback',
      'javascript:alert(1)',
      'data:text/html,x',
      'https://app.example.com/callback/../evil',
      'https://app.example.com/callback%2f..%2fevil',
      'https://app.example.com//callback',
      'https://app.example.com:443/callback',
      'https://APP.example.com/callback',
      'https://app.example.com./callback',
      'https://app.example.com@evil.example/callback',
      'https://app.example.com\\@evil.example/callback',
      'https://app.example.com.evil.example/callback',
      'http://app.example.com/callback',
      ' https://app.example.com/callback',
      'https://app.example.com/callback\0',
      '',
    ])
      await assertProblem(
        await service.fetch(appStart(newPkce(), { redirect_uri: uri })),
        400,
        'invalid-parameter',
      )
    const lists = ['redirect_uri[]=https://app.example.com/callback', 'redirect_uri']
    for (const part of lists) {
      const path = `${appStart(newPkce(), { redirect_uri: undefined })}&${part}`
      await assertProblem(await service.fetch(path), 400, 'invalid-parameter')
    }
    const after = await service.database.reader.selectFrom('flows').selectAll().execute()
    assert.equal(after.length, before.length)
  })

  test('the Host header is not used for redirects, also behind a trusted proxy', async () => {
    await using gate = await startTestService(engines[0]!, {
      env: {
        ...provider.env('ACME'),
        NODE_ENV: 'production',
        ALLOW_PRIVATE_NETWORK: 'true',
        BASE_URL: 'https://gate.example.com',
        TRUSTED_PROXIES: '127.0.0.1',
      },
    })
    const { port } = gate.app.server.address() as AddressInfo
    const spoofed: Record<string, string>[] = [
      { host: 'evil.example' },
      { host: 'gate.example.com:1' },
      { host: 'gate.example.com.evil.example' },
      { host: 'gate.example.com', 'x-forwarded-host': 'evil.example' },
      { host: 'gate.example.com', 'x-forwarded-proto': 'http', 'x-forwarded-port': '1' },
      { host: 'gate.example.com', forwarded: 'host=evil.example;proto=http' },
      { host: 'gate.example.com', 'x-original-url': '/auth/nobody', 'x-rewrite-url': '/auth/nobody' },
    ]
    for (const headers of spoofed) {
      const answer = await plainRequest(`http://127.0.0.1:${port}`, '/auth/acme', { headers })
      assert.ok(answer.status < 500)
      // To refuse such a host is as good as not to look at it.
      if (answer.headers.location === undefined) continue
      const asked = new URL(answer.headers.location)
      assert.equal(asked.origin, provider.url, JSON.stringify(headers))
      const redirectUri = asked.searchParams.get('redirect_uri')
      assert.equal(redirectUri, 'https://gate.example.com/auth/acme/callback', JSON.stringify(headers))
    }
  })

  test('a complete sign-in redirects only to the provider and back', async () => {
    const browser = new Browser()
    const asked = await begin(service, browser, '/auth/acme?url=//evil.example&next=//evil.example')
    const done = await browser.go(provider.approve(asked, 'straight'))
    assert.equal(done.headers.get('location'), '/dashboard')
  })
})
