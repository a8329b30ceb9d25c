import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { readPersonalData } from '../../src/accounts/users/personal-data.ts'
import { userProfileReader } from '../../src/accounts/users/user-profile.ts'
import { Browser, engines, onEachEngine, started, startTestService } from '../harness/index.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import { forgedClient, startOpenIdForger } from '../harness/openid-forger.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { signIn } from '../login/harness.ts'

type Session = AnswerTo<'GET /auth/session'>

onEachEngine('the profile of a user', (engine) => {
  const forger = started(startOpenIdForger)
  const service = started(async () => {
    const provider = (name: string) => ({
      [`${name}_CLIENT_ID`]: forgedClient.id,
      [`${name}_CLIENT_SECRET`]: forgedClient.secret,
      [`${name}_ISSUER`]: forger.issuer,
    })
    return startTestService(engine, { env: { ...provider('ACME'), ...provider('OTHER') } })
  })
  beforeEach(() => become('ada', {}))

  /** Whom the provider signs in from now on, and what it says about the person. */
  function become(sub: string, more: Record<string, unknown>): void {
    forger.claims = (claims) => ({ ...claims, sub })
    forger.userinfo = { sub, name: 'Ada', email: 'ada@example.com', email_verified: true, ...more }
  }

  async function session(browser: Browser): Promise<Session> {
    const answer = await browser.go(new URL('/auth/session', service.baseUrl))
    assert.equal(answer.status, 200)
    return (await answer.json()) as Session
  }

  async function signedIn(browser = new Browser()): Promise<Session> {
    await signIn(service, browser)
    return session(browser)
  }

  test('GET /auth/session has the standard claims', async () => {
    become('claims', { picture: 'https://img.example/ada.png' })
    const { sub, user } = await signedIn()
    assert.deepEqual(user, {
      id: sub,
      sub,
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
      picture: 'https://img.example/ada.png',
      role: 'user',
    })
  })

  test('an address is verified only while a provider says so of this very address', async () => {
    const unverified = { email_verified: false }
    const cases: [object, boolean, object, boolean][] = [
      [unverified, false, {}, true],
      [{}, true, { email_verified: undefined }, false],
      [{ email_verified: undefined }, false, { email: 'ada@evil.example' }, false],
      [{}, true, { email: 'ADA@example.com' }, false],
      [{ email: null }, false, {}, true],
      [{}, true, { email: null }, true],
    ]
    for (const [index, [first, expectedFirst, then, expectedThen]] of cases.entries()) {
      for (const [claims, expected] of [[first, expectedFirst] as const, [then, expectedThen] as const]) {
        become(`verified-${index}`, { ...claims })
        assert.equal((await signedIn()).user['email_verified'], expected, JSON.stringify([index, claims]))
      }
    }
  })

  test('another identity of the user may verify the address', async () => {
    become('own', { email_verified: false })
    const browser = new Browser()
    assert.equal((await signedIn(browser)).user['email_verified'], false)
    await link(browser, 'linked', {})
    assert.equal((await session(browser)).user['email_verified'], true)
  })

  test('a picture is a web address of bounded length, and follows the provider', async () => {
    for (const picture of [
      'javascript:alert(1)',
      'data:image/png;base64,AA==',
      '//img.example/a.png',
      7,
      { data: {} },
      `https://img.example/${'a'.repeat(3_000)}`,
    ]) {
      become('picture', { picture })
      assert.equal((await signedIn()).user['picture'], null)
    }
    become('picture', { picture: 'https://img.example/new.png' })
    assert.equal((await signedIn()).user['picture'], 'https://img.example/new.png')
  })

  const profileOf = async (sub: string) => (await userProfileReader([])(service.database.reader, sub))!

  async function link(browser: Browser, sub: string, claims: Record<string, unknown>): Promise<void> {
    become(sub, claims)
    const headers = { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' }
    const start = await browser.go(new URL('/auth/other/link', service.baseUrl), { method: 'POST', headers })
    const back = await browser.go(start.headers.get('location')!)
    await browser.go(back.headers.get('location')!)
  }

  test('standard claims are those of the last sign-in, and updated_at is the time of the last change', async () => {
    const given = { preferred_username: 'ada', given_name: 'Ada', website: 'https://ada.example/' }
    become('claimed', given)
    const { sub } = await signedIn()
    const first = await profileOf(sub)
    assert.deepEqual(first.claims, given)
    await signedIn()
    assert.deepEqual(await profileOf(sub), first)
    become('claimed', { ...given, preferred_username: 'ada.l', website: undefined })
    await signedIn()
    const second = await profileOf(sub)
    assert.deepEqual(second.claims, { preferred_username: 'ada.l', given_name: 'Ada' })
    assert.ok(second.updatedAt > first.updatedAt)
    become('claimed', {})
    await signedIn()
    const third = await profileOf(sub)
    assert.deepEqual(third.claims, {})
    assert.ok(third.updatedAt > second.updatedAt)
  })

  test('claims of two identities are not mixed, and the time follows links and unlinks', async () => {
    become('mixed', {})
    const browser = new Browser()
    const { sub } = await signedIn(browser)
    const alone = await profileOf(sub)
    await link(browser, 'mixed-other', { given_name: 'Augusta', gender: 'female' })
    const linked = await profileOf(sub)
    assert.deepEqual(linked.claims, { given_name: 'Augusta', gender: 'female' })
    assert.ok(linked.updatedAt > alone.updatedAt)
    const headers = { origin: service.baseUrl }
    const unlink = new URL('/auth/identities/other', service.baseUrl)
    assert.equal((await browser.go(unlink, { method: 'DELETE', headers })).status, 204)
    const unlinked = await profileOf(sub)
    assert.deepEqual(unlinked.claims, {})
    assert.ok(unlinked.updatedAt > linked.updatedAt)
    become('mixed', { given_name: 'Ada' })
    await signedIn(browser)
    await link(browser, 'mixed-other', { given_name: 'Augusta', gender: 'female' })
    assert.deepEqual((await profileOf(sub)).claims, { given_name: 'Ada' })
  })

  test('the export of personal data has the claims', async () => {
    become('exported', { birthdate: '1815-12-10' })
    const { sub } = await signedIn()
    const { identities } = await readPersonalData(service.database.reader, sub)
    assert.deepEqual(
      identities?.map(({ claims }) => claims),
      ['{"birthdate":"1815-12-10"}'],
    )
  })

  test('tells when the provider last changed something', async () => {
    become('changing', {})
    const { sub } = await signedIn()
    const first = await profileOf(sub)
    await signedIn()
    assert.deepEqual(await profileOf(sub), first)
    become('changing', { picture: 'https://img.example/ada.png' })
    await signedIn()
    const second = await profileOf(sub)
    assert.ok(second.updatedAt > first.updatedAt)
    assert.deepEqual(second, {
      ...first,
      picture: 'https://img.example/ada.png',
      updatedAt: second.updatedAt,
    })
    assert.equal(await userProfileReader([])(service.database.reader, 'nobody'), undefined)
  })
})

test('a provider with the name of another route below /auth is refused at the start', async () => {
  const service = await startTestService(engines[0]!)
  const routes = service.app.routeMethods.all()
  await service.close()
  const segments = routes.flatMap((route) => /^\w+ \/auth\/([^/:*]+)/.exec(route)?.[1] ?? [])
  assert.ok(segments.includes('sessions'))
  for (const name of new Set(segments)) {
    const variables = { CLIENT_ID: 'id', CLIENT_SECRET: 's', ISSUER: 'https://id.example' }
    const env = Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [`${name.toUpperCase()}_${key}`, value]),
    )
    await assert.rejects(startTestService(engines[0]!, { env }), (error) => {
      assert.ok(isConfigurationError(error))
      assert.match(
        error.message,
        new RegExp(`${name} cannot be the name of a provider, since /auth/${name} is`),
      )
      return true
    })
  }
})
