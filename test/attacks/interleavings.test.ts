// Whatever five tabs, two browsers and two providers do in whatever order, nobody is signed in as somebody else, and no
// identity comes to belong to somebody else. A model says after every step who must be signed in where.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { Browser, onEachEngine, startTestService, type TestService } from '#test/harness/index.ts'
import { propertyRun } from '#test/harness/properties.ts'
import { begin, beginLink } from './harness.ts'
import { startHonestProvider, type HonestProvider } from './honest-provider.ts'

const providers = ['plain', 'openid'] as const
const tabs = 5
const people = 2

/** What a tab has under way. */
interface Flow {
  browser: number
  provider: number
  /** `provider:person`. */
  identity: string
  callback: URL
  /** The code that was made for it, by which provider, and whether that would still take it. */
  code: { value: string; provider: number; good: boolean }
  /** Whether its state would still be taken. */
  open: boolean
  /** The session that links an identity; undefined for a sign-in. */
  linker: Session | undefined
  /** The session that it ended in; `together`: one of several answers at once. */
  ended?: string | undefined
}

interface Session {
  user: string
  id: string
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['sign in', 'sign in', 'begin', 'link', 'link', 'deliver', 'deliver', 'deliver', 'again'] as const),
    ...(['stray', 'crossed', 'swapped', 'together', 'sign out'] as const),
  ),
  tab: fc.nat(tabs - 1),
  other: fc.nat(tabs - 1),
  browser: fc.nat(1),
  provider: fc.nat(providers.length - 1),
  person: fc.nat(people - 1),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

onEachEngine('interleavings', (engine) => {
  const servers: HonestProvider[] = []
  let service: TestService
  let runs = 0
  before(async () => {
    servers.push(await startHonestProvider(), await startHonestProvider({ openid: true }))
    const env = Object.assign({}, ...servers.map((server, at) => server.env(providers[at]!.toUpperCase())))
    service = await startTestService(engine, { env: env as Record<string, string> })
  })
  after(async () => {
    await service.close()
    for (const server of servers) await server.close()
  })

  async function sessionOf(browser: Browser): Promise<Session | undefined> {
    const answer = await browser.go(new URL('/auth/session', service.baseUrl))
    if (answer.status === 401) return undefined
    assert.equal(answer.status, 200)
    const { user, session } = (await answer.json()) as { user: { id: string }; session: { id: string } }
    return { user: user.id, id: session.id }
  }

  /** Whose each identity is, as the database has it. */
  async function owners(prefix: string): Promise<Map<string, string>> {
    const rows = await service.database.reader
      .selectFrom('identities')
      .select(['provider', 'provider_id', 'user_id'])
      .where('provider_id', 'like', `${prefix}%`)
      .execute()
    return new Map(rows.map((row) => [`${row.provider}:${row.provider_id}`, row.user_id]))
  }

  async function walk(steps: readonly Step[]): Promise<void> {
    const prefix = `run${(runs += 1)}-`
    const browsers = [new Browser(), new Browser()]
    const sessions: (Session | undefined)[] = [undefined, undefined]
    const flows: (Flow | undefined)[] = []
    const seen = new Set<string>()
    let owned = new Map<string, string>()

    async function start({ kind, tab, browser, provider, person }: Step): Promise<void> {
      const linker = kind === 'link' ? sessions[browser] : undefined
      if (kind === 'link' && !linker) return
      const name = providers[provider]!
      const asked = linker
        ? await beginLink(service, browsers[browser]!, `/auth/${name}/link`)
        : await begin(service, browsers[browser]!, `/auth/${name}`)
      const id = `${prefix}${person}`
      const callback = servers[provider]!.approve(asked, id)
      const code = { value: callback.searchParams.get('code')!, provider, good: true }
      flows[tab] = { browser, provider, identity: `${name}:${id}`, callback, code, open: true, linker }
    }

    /** Brings an answer back: that of `flow`, maybe with another code, at another callback, in another browser. */
    async function deliver(flow: Flow, code: Flow['code'], at: number, browser: number): Promise<void> {
      const url = new URL(`/auth/${providers[at]}/callback${flow.callback.search}`, service.baseUrl)
      url.searchParams.set('code', code.value)
      const before = sessions[browser]
      const answer = await browsers[browser]!.go(url)
      assert.equal(answer.status, 303)
      const succeeded = answer.headers.get('location') === '/dashboard'
      const now = await sessionOf(browsers[browser]!)

      const isOwn = flow.browser === browser && flow.provider === at
      // The same callback again, with whatever code: what it came to before, as long as that is still the browser's session.
      if (!flow.open && isOwn) {
        if (flow.ended === 'together') {
          assert.ok(!succeeded || now?.user === owned.get(flow.identity), 'the outcome of somebody else')
          sessions[browser] = now
          return
        }
        assert.equal(succeeded, flow.ended !== undefined && flow.ended === before?.id)
        assert.deepEqual(now, before, 'a repetition changes nobody')
        return
      }
      const taken = flow.open && isOwn
      const vouched = taken && code === flow.code && code.good
      if (taken) flow.open = false
      // A provider knows its own codes, and spends one that comes wrongly.
      if (taken && code.provider === flow.provider) code.good = false
      const owner = owned.get(flow.identity)
      const { linker } = flow
      if (!vouched) {
        assert.ok(!succeeded, 'an answer that should have been refused was taken')
        assert.deepEqual(now, before, 'a refusal changes nobody')
      } else if (linker) {
        const links = before?.id === linker.id && (owner === undefined || owner === linker.user)
        assert.equal(succeeded, links)
        assert.deepEqual(now, before, 'a link changes nobody')
        if (links) owned.set(flow.identity, linker.user)
      } else {
        assert.ok(succeeded && now)
        assert.notEqual(now.id, before?.id, 'every sign-in has a session of its own')
        if (owner === undefined) assert.ok(!seen.has(now.user), 'somebody new is nobody who was there before')
        else assert.equal(now.user, owner)
        owned.set(flow.identity, now.user)
        seen.add(now.user)
      }
      if (taken && succeeded) flow.ended = now?.id
      sessions[browser] = now
      assert.deepEqual(
        await sessionOf(browsers[1 - browser]!),
        sessions[1 - browser],
        'nor the other browser',
      )
    }

    /** All answers come back at once: the order is not known, so that only what any order allows is asked for. */
    async function deliverTogether(): Promise<void> {
      const open = flows.filter((flow) => flow?.open && flow.code.good) as Flow[]
      const answers = await Promise.all(open.map((flow) => browsers[flow.browser]!.go(flow.callback)))
      for (const answer of answers) assert.equal(answer.status, 303)
      for (const flow of open) {
        flow.open = flow.code.good = false
        flow.ended = 'together'
      }
      const now = await owners(prefix)
      for (const [identity, user] of now) {
        const before = owned.get(identity)
        const tried = open.filter((flow) => flow.identity === identity)
        const linkers = tried.flatMap(({ linker }) => (linker ? [linker.user] : []))
        if (before !== undefined) assert.equal(user, before, 'an identity never moves')
        else assert.ok(linkers.includes(user) || (tried.some(({ linker }) => !linker) && !seen.has(user)))
      }
      owned = now
      for (const [at, browser] of browsers.entries()) {
        const [before, session] = [sessions[at], await sessionOf(browser)]
        const own = open.filter((flow) => flow.browser === at)
        const logins = own.filter(({ linker }) => !linker).map(({ identity }) => owned.get(identity))
        // A link that ends together with a sign-in may have the last word about the cookie: it is the same person's.
        const stays = logins.length === 0 || own.some(({ linker }) => linker?.id === before?.id)
        const allowed = [...logins, ...(stays ? [before?.user] : [])]
        assert.ok(allowed.includes(session?.user), 'the session is of nobody who signed in here')
        sessions[at] = session
      }
      for (const user of owned.values()) seen.add(user)
    }

    for (const now of steps) {
      const { kind, tab, other, browser, provider } = now
      if (kind === 'begin' || kind === 'link' || kind === 'sign in') await start(now)
      const flow = flows[tab]
      if (kind === 'begin' || kind === 'link') continue
      if (kind === 'together') await deliverTogether()
      else if (kind === 'sign out') {
        await browsers[browser]!.go(new URL('/auth/logout', service.baseUrl), { method: 'POST' })
        sessions[browser] = undefined
      } else if (flow) {
        const foreignCode = flows[other]?.code ?? flow.code
        if (kind === 'deliver' || kind === 'sign in')
          await deliver(flow, flow.code, flow.provider, flow.browser)
        else if (kind === 'stray') await deliver(flow, flow.code, flow.provider, browser)
        else if (kind === 'crossed') await deliver(flow, flow.code, provider, flow.browser)
        else if (kind === 'swapped') await deliver(flow, foreignCode, flow.provider, flow.browser)
        else
          for (let time = 0; time < 2; time += 1) await deliver(flow, flow.code, flow.provider, flow.browser)
      }
    }
    for (const [at, browser] of browsers.entries()) assert.deepEqual(await sessionOf(browser), sessions[at])
    assert.deepEqual(await owners(prefix), owned)
  }

  test('no order of steps binds a session or an identity to the wrong person', async (t) => {
    const { seed } = propertyRun(t)
    // Fewer on PostgreSQL, where each step takes longer.
    const numRuns = Number(process.env['TEST_RUNS'] ?? (engine.name === 'sqlite' ? 300 : 100))
    const walks = fc.array(step, { minLength: 6, maxLength: 14 })
    await fc.assert(fc.asyncProperty(walks, walk), { seed, numRuns })
  })
})
