// `login.sameAddress: 'offer'`: the page that asks whether a new identity belongs to the existing user with its address.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf } from '#test/harness/index.ts'
import { resolveLoginConfig } from '../../src/login/config.ts'
import { answerOf, authorizeUrl } from '../oauth2/harness.ts'
import {
  accountsOf,
  appStart,
  counts,
  exchange,
  newPkce,
  signIn,
  spa,
  upToCallback,
  whoAmI,
  codeGrant,
} from './harness.ts'
import { Site } from './site.ts'

interface Person {
  id: string
  email: string
  verified?: boolean
}

onEachEngine('the same address at two providers', (engine) => {
  const linked: string[] = []
  const site = new Site(engine, {
    providers: ['ACME', 'OTHER', 'THIRD'],
    env: { ADMIN_IDENTITIES: 'other:boss' },
    config: {
      login: {
        sameAddress: 'offer',
        clients: [spa],
        providers: { acme: {}, other: { keepTokens: true } },
        onLink: ({ user, identity, refuse }) => {
          if (identity.providerId === 'unwanted') refuse('Not this one.')
          linked.push(`${user.id} ${identity.provider}:${identity.providerId}`)
        },
      },
    },
  })

  function become({ id, email, verified = true }: Person): void {
    site.provider.profile = { id, displayName: `The name of ${id}`, emails: [{ value: email, verified }] }
  }
  /** Signs in; gives where the callback leads. */
  async function go(browser: Browser, path: string, person: Person): Promise<string> {
    become(person)
    return signIn(site.service, browser, path)
  }
  /** A user of `acme`, in a browser of their own. */
  async function user(id: string, email: string): Promise<{ id: string; browser: Browser }> {
    const browser = new Browser()
    assert.equal(await go(browser, '/auth/acme', { id, email }), '/dashboard')
    return { id: (await whoAmI(site.service, browser))!.id, browser }
  }
  const at = (path: string): URL => new URL(path, site.service.baseUrl)
  const read = async (browser: Browser, path: string): Promise<string> => (await browser.go(at(path))).text()
  const offerIn = (location: string): string => at(location).searchParams.get('offer') ?? ''
  const choose = (browser: Browser, location: string, choice: Record<string, string>): Promise<Response> =>
    browser.go(at('/login/offer'), {
      method: 'POST',
      body: new URLSearchParams({ offer: offerIn(location), ...choice }),
      headers: { ...site.sameOrigin, accept: 'text/html' },
    })
  const onward = (answer: Response): string => answer.headers.get('refresh')!.replace('0;url=', '')
  /** Chooses to sign in at a provider; gives the callback. */
  async function toCallback(
    browser: Browser,
    location: string,
    person: Person,
    provider = 'acme',
  ): Promise<URL> {
    const start = await choose(browser, location, { provider })
    assert.equal(start.status, 200, await start.clone().text())
    become(person)
    return at((await browser.go(onward(start))).headers.get('location')!)
  }
  /** The same to the end; gives where the callback leads. */
  async function link(
    browser: Browser,
    location: string,
    person: Person,
    provider = 'acme',
  ): Promise<string> {
    const callback = await toCallback(browser, location, person, provider)
    return (await browser.go(callback)).headers.get('location')!
  }

  test('the person signs in with the earlier provider, which links the identity', async () => {
    const { id } = await user('ada', 'Ada@Example.com')
    const browser = new Browser()
    const before = await accountsOf(site.service)
    const newcomer = { id: 'ada-other', email: 'ada@example.COM' }
    const location = await go(browser, '/auth/other?return_to=/lists', newcomer)
    assert.match(location, /^\/login\?offer=[\w-]{43}&return_to=%2Flists$/)
    assert.deepEqual(await accountsOf(site.service), before, 'nothing has changed yet')
    assert.equal(await whoAmI(site.service, browser), undefined)

    const page = await read(browser, location)
    assert.match(page, /<h1>You signed in with Acme before<\/h1>/)
    assert.ok(page.includes('ada@example.COM'))
    assert.match(page, /Sign in with Acme and link/)
    assert.match(page, /Continue as a new user/)
    assert.doesNotMatch(page, /The name of ada/, 'the page does not describe the user')
    assert.doesNotMatch(page, /<script/)

    assert.equal(await link(browser, location, { id: 'ada', email: 'Ada@Example.com' }), '/lists')
    assert.equal((await whoAmI(site.service, browser))!.id, id)
    assert.ok(linked.includes(`${id} other:ada-other`))
    const [entry] = await rowsOf(site.service, 'audit_log', { user_id: id, action: 'identity.linked' })
    assert.equal(entry!.provider_id, 'ada-other')
    assert.equal((await rowsOf(site.service, 'provider_tokens', { provider_id: 'ada-other' })).length, 1)

    const again = new Browser()
    assert.equal(await go(again, '/auth/other', newcomer), '/dashboard', 'it is a known identity now')
    assert.equal((await whoAmI(site.service, again))!.id, id)
  })

  test('"Continue as a new user", twice at once: one user, one session, and the earlier user does not change', async () => {
    const { id } = await user('ben', 'ben@example.com')
    const browser = new Browser()
    const before = await counts(site.service)
    const location = await go(browser, '/auth/other', { id: 'ben-2', email: 'ben@example.com' })
    const answers = await Promise.all([1, 2, 3].map(() => choose(browser, location, { new_user: 'true' })))
    assert.deepEqual(answers.map(onward), Array(3).fill('/dashboard'))
    const me = await whoAmI(site.service, browser)
    assert.notEqual(me!.id, id)
    assert.deepEqual(await counts(site.service), {
      users: before.users + 1,
      identities: before.identities + 1,
      sessions: before.sessions + 1,
    })
    const tokens = await rowsOf(site.service, 'provider_tokens', { provider_id: 'ben-2' })
    assert.equal(tokens.length, 1, 'the provider tokens were kept with the identity')
    site.shift = 60_000
    const late = await choose(browser, location, { new_user: 'true' })
    assert.match(late.headers.get('location')!, /error=sign-in-expired/)
    const link = await choose(browser, location, { provider: 'acme' })
    assert.match(link.headers.get('location')!, /error=sign-in-expired/)
  })

  test('an app gets its code, whether the identity is linked or has a new user', async () => {
    const { id } = await user('cem', 'cem@example.com')
    for (const choice of ['link', 'new'] as const) {
      const browser = new Browser()
      const pkce = newPkce()
      const person = { id: `cem-${choice}`, email: 'cem@example.com' }
      const location = await go(browser, appStart(pkce).replace('/auth/acme', '/auth/other'), person)
      const target = new URL(
        choice === 'link'
          ? await link(browser, location, { id: 'cem', email: 'cem@example.com' })
          : onward(await choose(browser, location, { new_user: 'true' })),
      )
      assert.equal(target.origin + target.pathname, spa.redirectUris[0])
      assert.equal(target.searchParams.get('state'), 'app-state')
      assert.equal(await whoAmI(site.service, browser), undefined, 'the browser has no session')
      const { status, body } = await exchange(site.service, codeGrant(target.searchParams.get('code')!, pkce))
      assert.equal(status, 200, JSON.stringify(body))
      const identities = await rowsOf(site.service, 'identities', { provider_id: person.id })
      assert.equal(identities[0]!.user_id === id, choice === 'link')
    }
  })

  test('/oauth2/authorize continues after the link', async () => {
    await user('dana', 'dana@example.com')
    const browser = new Browser()
    const start = await browser.follow(authorizeUrl(site.service), ({ pathname }) => pathname !== '/login')
    const returnTo = start.next!.searchParams.get('return_to')!
    const path = `/auth/other?${new URLSearchParams({ return_to: returnTo }).toString()}`
    const location = await go(browser, path, { id: 'dana-2', email: 'dana@example.com' })
    const back = await link(browser, location, { id: 'dana', email: 'dana@example.com' })
    assert.equal(back, returnTo)
    const answer = (await browser.go(at(back))).headers.get('location')!
    assert.ok(new URL(answer).searchParams.get('code'))
    assert.ok((await answerOf(site.service, browser)).code, 'and again with the session')
  })

  test('somebody else signs in with the earlier provider: nothing is linked, and the page says so', async () => {
    await user('eve-victim', 'victim@example.com')
    await user('eve', 'eve@example.com')
    const browser = new Browser()
    const location = await go(browser, '/auth/other', { id: 'forged', email: 'victim@example.com' })
    const before = await accountsOf(site.service)
    for (const person of [
      { id: 'eve', email: 'eve@example.com' },
      { id: 'eve', email: 'victim@example.com', verified: false },
      { id: 'unknown', email: 'victim@example.com' },
      { id: 'unknown', email: 'somebody@example.com' },
    ]) {
      const next = await link(browser, location, person)
      assert.match(next, /^\/login\?error=other-account&/)
      assert.equal(offerIn(next), offerIn(location), 'the person may choose again')
      const page = await read(browser, next)
      assert.match(page, /nothing was linked/)
      assert.match(page, /Continue as a new user/)
      const now = await accountsOf(site.service)
      assert.deepEqual(now['users'], before['users'])
      assert.equal(now['identities']!.length, before['identities']!.length)
      assert.deepEqual(now['sessions'], before['sessions'])
    }
    const failures = await rowsOf(site.service, 'audit_log', { code: 'other-account' })
    assert.equal(failures.length, 4)
  })

  test('an offer belongs to its browser: its page, its choices and its link', async () => {
    const { browser: victim } = await user('fay', 'fay@example.com')
    const attacker = new Browser()
    const location = await go(attacker, '/auth/other', { id: 'phish', email: 'fay@example.com' })
    const before = await accountsOf(site.service)
    assert.match(await read(victim, location), /was started in another browser/)
    assert.equal((await choose(attacker, location, {})).status, 400)
    for (const choice of [{ provider: 'acme' }, { new_user: 'true' }]) {
      const answer = await choose(victim, location, choice)
      assert.match(answer.headers.get('location')!, /error=sign-in-expired/)
    }
    // The attacker starts the sign-in, and the victim finishes it.
    const start = await choose(attacker, location, { provider: 'acme' })
    become({ id: 'fay', email: 'fay@example.com' })
    const callback = (await victim.go(onward(start))).headers.get('location')!
    assert.match((await victim.go(callback)).headers.get('location')!, /error=sign-in-expired/)
    assert.deepEqual(await accountsOf(site.service), before)
  })

  test('an ordinary sign-in in the same browser links nothing', async () => {
    const { id } = await user('gil', 'gil@example.com')
    const browser = new Browser()
    await go(browser, '/auth/other', { id: 'left-behind', email: 'gil@example.com' })
    assert.equal(await go(browser, '/auth/acme', { id: 'gil', email: 'gil@example.com' }), '/dashboard')
    assert.equal((await rowsOf(site.service, 'identities', { user_id: id })).length, 1)
  })

  test('an offer works once, within ten minutes', async () => {
    const { id } = await user('hal', 'hal@example.com')
    const hal = { id: 'hal', email: 'hal@example.com' }
    const browser = new Browser()
    const location = await go(browser, '/auth/other', { id: 'hal-2', email: 'hal@example.com' })
    const [first, second] = [
      await toCallback(browser, location, hal),
      await toCallback(browser, location, hal),
    ]
    const targets = await Promise.all(
      [first, second].map(async (url) => (await browser.go(url)).headers.get('location')!),
    )
    assert.deepEqual(targets.map((target) => target.replace(/&.*/, '')).toSorted(), [
      '/dashboard',
      '/login?error=sign-in-expired',
    ])
    assert.equal((await rowsOf(site.service, 'identities', { user_id: id })).length, 2)

    const late = new Browser()
    const start = '/auth/other?invitation=true'
    const next = await go(late, start, { id: 'hal-3', email: 'hal@example.com' })
    const callback = await toCallback(late, next, hal)
    site.shift = 601_000
    assert.match((await late.go(callback)).headers.get('location')!, /error=sign-in-expired/)
    assert.match(await read(late, next), /longer than ten minutes/)
    for (const choice of [{ provider: 'acme' }, { new_user: 'true' }])
      // The next attempt uses the invitation, too.
      assert.match(
        (await choose(late, next, choice)).headers.get('location')!,
        /error=sign-in-expired&.*invitation=true/,
      )
    assert.equal((await rowsOf(site.service, 'identities', { provider_id: 'hal-3' })).length, 0)
  })

  test('no offer without a verified address on both sides, for a blocked user, or at the same provider', async () => {
    await user('ida', 'ida@example.com')
    const unverified = { id: 'ida-x', email: 'ida@example.com', verified: false }
    assert.equal(await go(new Browser(), '/auth/other', unverified), '/dashboard')
    assert.equal(await go(new Browser(), '/auth/acme', { ...unverified, verified: true }), '/dashboard')

    const squatter = { id: 'squatter', email: 'jan@example.com', verified: false }
    assert.equal(await go(new Browser(), '/auth/acme', squatter), '/dashboard')
    assert.equal(
      await go(new Browser(), '/auth/other', { id: 'jan', email: 'jan@example.com' }),
      '/dashboard',
    )

    const { id } = await user('kim', 'kim@example.com')
    const { database } = site.service
    await database.transaction((tx) =>
      tx.updateTable('users').set({ blocked_at: Date.now() }).where('id', '=', id).execute(),
    )
    assert.equal(
      await go(new Browser(), '/auth/other', { id: 'kim-2', email: 'kim@example.com' }),
      '/dashboard',
    )
  })

  test('a hook that refuses the link, or a canceled sign-in, leads back to the choice', async () => {
    const { id } = await user('lou', 'lou@example.com')
    const browser = new Browser()
    const location = await go(browser, '/auth/other', { id: 'unwanted', email: 'lou@example.com' })
    const next = await link(browser, location, { id: 'lou', email: 'lou@example.com' })
    assert.match(await read(browser, next), /Not this one\.[\s\S]*Continue as a new user/)
    assert.equal((await rowsOf(site.service, 'identities', { user_id: id })).length, 1)

    site.provider.answer = { error: 'access_denied' }
    const canceled = await link(browser, next, { id: 'lou', email: 'lou@example.com' })
    site.provider.answer = {}
    assert.match(await read(browser, canceled), /You canceled the sign-in[\s\S]*Continue as a new user/)
  })

  test('a linked identity that makes its user an admin ends the other sessions', async () => {
    const { browser: elsewhere } = await user('max', 'max@example.com')
    const browser = new Browser()
    const location = await go(browser, '/auth/other', { id: 'boss', email: 'max@example.com' })
    assert.equal(await link(browser, location, { id: 'max', email: 'max@example.com' }), '/dashboard')
    assert.equal((await whoAmI(site.service, browser))!.role, 'admin')
    assert.equal(await whoAmI(site.service, elsewhere), undefined)
  })

  test('a repeated callback leads to the same choice', async () => {
    await user('nia', 'nia@example.com')
    const browser = new Browser()
    become({ id: 'nia-2', email: 'nia@example.com' })
    const callback = await upToCallback(site.service, browser, '/auth/other')
    const answers = await Promise.all([1, 2].map(() => browser.go(callback)))
    const [one, two] = answers.map((answer) => answer.headers.get('location')!)
    assert.ok(offerIn(one!))
    assert.equal(one, two)
  })

  test('with several earlier providers, each has a button', async () => {
    await user('ola', 'ola@example.com')
    const browser = new Browser()
    const first = await go(browser, '/auth/other', { id: 'ola-2', email: 'ola@example.com' })
    await choose(browser, first, { new_user: 'true' })
    const location = await go(new Browser(), '/auth/third', { id: 'ola-3', email: 'ola@example.com' })
    assert.match(await read(browser, location), /another browser/)
    const third = new Browser()
    const page = await read(third, await go(third, '/auth/third', { id: 'ola-3', email: 'ola@example.com' }))
    assert.match(page, /<h1>You signed in with Acme or Other before<\/h1>/)
    assert.deepEqual(
      [...page.matchAll(/name="provider" value="(\w+)"/g)].map((match) => match[1]),
      ['acme', 'other'],
    )
  })
})

onEachEngine('the same address, with RECENT_SIGN_IN_PROOF=required', (engine) => {
  const site = new Site(engine, {
    env: { RECENT_SIGN_IN_PROOF: 'required' },
    config: { login: { sameAddress: 'offer' } },
  })

  test('a provider that cannot prove when it authenticated the person links nothing', async () => {
    const emails = [{ value: 'pia@example.com', verified: true }]
    site.provider.profile = { id: 'pia', emails }
    await signIn(site.service, new Browser())
    const browser = new Browser()
    site.provider.profile = { id: 'pia-2', emails }
    const location = new URL(await signIn(site.service, browser, '/auth/other'), site.service.baseUrl)
    const body = new URLSearchParams({ offer: location.searchParams.get('offer')!, provider: 'acme' })
    const start = await browser.go(new URL('/login/offer', location), { method: 'POST', body })
    site.provider.profile = { id: 'pia', emails }
    const back = await browser.go(start.headers.get('refresh')!.replace('0;url=', ''))
    const answer = await browser.go(back.headers.get('location')!)
    assert.match(answer.headers.get('location')!, /error=reauthentication-unproven&.*offer=/)
    assert.equal((await counts(site.service)).identities, 1)
  })
})

test('another value of sameAddress is an error of the configuration', () => {
  const { faults } = resolveLoginConfig({ sameAddress: 'merge' as 'offer' }, [])
  assert.deepEqual(faults, ["login.sameAddress must be 'separate' or 'offer'"])
})
