import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { Browser, onEachEngine, rowsOf, started, startOAuthProvider, tokens } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import type { LoginConfig } from '../../src/login/config.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { appStart, counts, newPkce, signIn, spa, whoAmI } from './harness.ts'

onEachEngine('hooks of sign-in', (engine) => {
  /** Set by each test. */
  let hooks: Pick<LoginConfig, 'onSignUp' | 'onSignIn' | 'onLink'> = {}
  const called: string[] = []
  const run = (name: keyof typeof hooks) => ({
    providerTokens: ['other'],
    handle: (context: Parameters<Extract<LoginConfig['onSignIn'], (...args: never[]) => unknown>>[0]) => {
      called.push(`${name} ${context.identity.provider}:${context.identity.providerId}`)
      const hook = hooks[name]
      return typeof hook === 'function' ? hook(context) : undefined
    },
  })
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    // A hook's time-out of five seconds is over at once: only a hook that hangs sees it.
    const clock = clockWith({ 5_000: 200 })
    return startTestService(engine, {
      env: { ...provider.env('ACME'), ...provider.env('OTHER') },
      parts: { clock },
      config: {
        login: {
          clients: [spa],
          events: true,
          onSignUp: run('onSignUp'),
          onSignIn: run('onSignIn'),
          onLink: run('onLink'),
        },
      },
    })
  })
  before(async () => {
    await service.database.transaction((tx) =>
      tx.schema.createTable('profiles').addColumn('user_id', 'text').addColumn('team', 'text').execute(),
    )
  })
  beforeEach(() => {
    hooks = {}
    called.length = 0
  })

  type Profiles = { profiles: { user_id: string; team: string } }
  const emitted = async (): Promise<string[]> => {
    const rows = await rowsOf(service, 'events', { direction: 'emitted' }, 'id')
    return rows.map(({ type }) => type)
  }
  const profile = (id: string): void => void (provider.profile = { id, displayName: id, team: 'blue' })

  test('sign-up and sign-in: their writes and events commit with the sign-in', async () => {
    hooks.onSignUp = async ({ user, profile, tx, emit }) => {
      const row = { user_id: user.id, team: String(profile['team']) }
      await tx.withTables<Profiles>().insertInto('profiles').values(row).execute()
      emit({ type: 'team.joined', data: row })
    }
    profile('first')
    const browser = new Browser()
    const before = (await emitted()).length
    await signIn(service, browser)
    assert.deepEqual(called, ['onSignUp acme:first', 'onSignIn acme:first'])
    assert.deepEqual((await emitted()).slice(before), ['team.joined', 'user.created', 'user.signed_in'])
    const me = (await whoAmI(service, browser))!
    const row = await service.database.reader
      .withTables<Profiles>()
      .selectFrom('profiles')
      .selectAll()
      .where('user_id', '=', me.id)
      .executeTakeFirstOrThrow()
    assert.equal(row.team, 'blue')
    await signIn(service, new Browser())
    assert.equal(called.at(-1), 'onSignIn acme:first')
    assert.equal(called.length, 3)
  })

  test('a hook that refuses: everything is rolled back, and the page shows the escaped message', async () => {
    hooks.onSignIn = async ({ tx, user, emit, refuse }) => {
      await tx.withTables<Profiles>().insertInto('profiles').values({ user_id: user.id, team: 'x' }).execute()
      emit({ type: 'never.sent', data: {} })
      refuse('Only <b>members</b>\nof example.com')
    }
    profile('refused')
    const browser = new Browser()
    const [before, eventsBefore] = [await counts(service), await emitted()]
    const location = await signIn(service, browser)
    const url = new URL(location, service.baseUrl)
    assert.equal(url.pathname, '/login')
    assert.equal(url.searchParams.get('error'), 'refused')
    assert.equal(await whoAmI(service, browser), undefined)
    assert.deepEqual(await counts(service), before)
    assert.deepEqual(await emitted(), eventsBefore)
    const page = await (await service.fetch(location)).text()
    assert.match(page, /Only &lt;b&gt;members&lt;\/b&gt; of example\.com/)
    const audit = await service.admin('/audit?limit=1')
    const [row] = ((await audit.json()) as { data: Record<string, unknown>[] }).data
    assert.equal(row!['action'], 'sign_in.failed')
    assert.equal(row!['code'], 'refused')
    assert.equal(row!['providerId'], 'refused')
    assert.equal(String(row!['supportId']).slice(0, 8), url.searchParams.get('id'))
  })

  test('an unsigned message is not shown on the page', async () => {
    hooks.onSignIn = ({ refuse }) => refuse('The real reason')
    profile('forger')
    const url = new URL(await signIn(service, new Browser()), service.baseUrl)
    for (const [name, value] of [
      ['message', 'Send your password to evil@example.com'],
      ['id', 'another-number'],
      ['proof', ''],
      ['proof', 'AAAA'],
    ] as const) {
      const forged = new URL(url)
      forged.searchParams.set(name, value)
      const page = await (await service.fetch(forged.pathname + forged.search)).text()
      assert.ok(!page.includes('evil@example.com') && !page.includes('The real reason'), name)
      assert.match(page, /You cannot sign in here/)
    }
  })

  test('a hook that throws or hangs: nobody is signed in, everything is rolled back, no 5xx', async () => {
    const before = await counts(service)
    const broken: Exclude<typeof hooks.onSignUp, undefined>[] = [
      () => {
        throw new Error('secret details')
      },
      () => new Promise<void>(() => undefined),
      ({ emit }) => emit({ type: '', data: {} }),
      async ({ tx }) =>
        void (await tx
          .withTables<Profiles>()
          .selectFrom('nowhere' as 'profiles')
          .execute()),
    ]
    for (const [index, hook] of broken.entries()) {
      hooks.onSignUp = hook
      profile(`broken-${index}`)
      const browser = new Browser()
      const location = await signIn(service, browser)
      assert.match(location, /^\/login\?error=hook-failed&id=/, `hook ${index}`)
      assert.ok(!(await (await service.fetch(location)).text()).includes('secret details'))
      assert.equal(await whoAmI(service, browser), undefined)
    }
    assert.deepEqual(await counts(service), before)
    hooks = {}
    profile('after-broken')
    assert.equal(await signIn(service, new Browser()), '/dashboard')
  })

  test('an app gets the refusal as an error of RFC 6749', async () => {
    let client: string | undefined
    hooks.onSignIn = (context) => {
      client = context.client
      context.refuse('No.')
    }
    profile('app-refused')
    const target = new URL(await signIn(service, new Browser(), appStart(newPkce())))
    assert.equal(target.origin, 'https://app.example.com')
    assert.equal(target.searchParams.get('error'), 'access_denied')
    assert.equal(target.searchParams.get('code'), null)
    assert.equal(client, 'spa')
  })

  test('linking: onLink can refuse, and runs once for each identity', async () => {
    profile('linker')
    const browser = new Browser()
    await signIn(service, browser)
    const link = async (): Promise<string> => {
      const start = await browser.go(new URL('/auth/other/link', service.baseUrl), { method: 'POST' })
      const back = await browser.go(start.headers.get('location')!)
      return (await browser.go(back.headers.get('location')!)).headers.get('location')!
    }
    profile('linked')
    hooks.onLink = ({ refuse }) => refuse('Not this one')
    assert.match(await link(), /^\/login\?error=refused/)
    const me = (await whoAmI(service, browser))!
    const [failure] = (
      (await (await service.admin(`/audit?userId=${me.id}&failed=true`)).json()) as { data: unknown[] }
    ).data as Record<string, unknown>[]
    assert.equal(failure!['action'], 'identity.link_failed')
    let token: string | undefined
    hooks.onLink = ({ user, providerToken }) => {
      assert.equal(user.id, me.id)
      token = providerToken
    }
    called.length = 0
    assert.equal(await link(), '/dashboard')
    assert.equal(token, tokens.access, 'the hook declares that it needs the token of this provider')
    assert.equal((await emitted()).at(-1), 'identity.linked')
    assert.equal(await link(), '/dashboard')
    assert.deepEqual(called, ['onLink other:linked'])
    const gone = await browser.go(new URL('/auth/identities/other', service.baseUrl), { method: 'DELETE' })
    assert.equal(gone.status, 204)
    assert.equal((await emitted()).at(-1), 'identity.unlinked')
  })

  test('a hook that catches its own refusal still refuses, with the first message', async () => {
    profile('caught')
    await signIn(service, new Browser())
    const before = await counts(service)
    for (const more of [
      () => undefined,
      () => assert.fail('another error'),
      () => new Promise(() => undefined),
    ]) {
      hooks.onSignIn = async ({ refuse, emit }) => {
        for (const message of ['The first.', 'The second.']) {
          try {
            refuse(message)
          } catch {
            emit({ type: 'never.sent', data: {} })
          }
        }
        await more()
      }
      const location = new URL(await signIn(service, new Browser()), service.baseUrl)
      assert.equal(location.searchParams.get('error'), 'refused')
      assert.equal(location.searchParams.get('message'), 'The first.')
    }
    assert.deepEqual(await counts(service), before)
    assert.ok(!(await emitted()).includes('never.sent'))
  })

  test('the audit log names the account that a hook refused, if it exists', async () => {
    const newest = async (): Promise<Record<string, unknown>> =>
      ((await (await service.admin('/audit?limit=1')).json()) as { data: Record<string, unknown>[] }).data[0]!
    const refuse: typeof hooks.onSignIn = ({ refuse: no }) => no('No.')
    profile('refused later')
    const browser = new Browser()
    await signIn(service, browser)
    const me = (await whoAmI(service, browser))!
    hooks.onSignIn = refuse
    await signIn(service, new Browser())
    const later = await newest()
    assert.deepEqual([later['action'], later['code'], later['userId']], ['sign_in.failed', 'refused', me.id])
    profile('refused at once')
    await signIn(service, new Browser())
    const once = await newest()
    assert.deepEqual(
      [once['providerId'], once['userId']],
      ['refused at once', null],
      'the account is gone again',
    )
  })

  test('without a declaration for the provider a hook gets no token', async () => {
    let token: string | undefined = 'unset'
    hooks.onSignIn = ({ providerToken }) => void (token = providerToken)
    profile('no-token')
    await signIn(service, new Browser())
    assert.equal(token, undefined)
  })
})
