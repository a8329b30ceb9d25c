import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createSignIn, type SignInOptions } from './sign-in.ts'

// The page is a model here; test/browser runs the same code in Chromium against the service.
const url = 'https://gate.example.com'
const redirectUri = 'https://app.example.com/callback'

class Storage {
  readonly items = new Map<string, string>()
  get length(): number {
    return this.items.size
  }
  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null
  }
  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }
  setItem(key: string, value: string): void {
    this.items.set(key, value)
  }
  removeItem(key: string): void {
    this.items.delete(key)
  }
}

const idToken = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify({ iss: url, aud: 'spa', sub: 'u1', exp: Date.now() / 1000 + 60, ...claims })).toString('base64url')}.x`

describe('sign-in of a page', () => {
  let visited: URL[]
  let posts: { path: string; fields: Record<string, string> }[]
  let answers: (() => Response | Promise<Response>)[]
  let sessionStorage: Storage
  let localStorage: Storage
  let location: { href: string; assign(to: string): void }
  const before = new Map<string, PropertyDescriptor | undefined>()

  beforeEach(() => {
    visited = []
    posts = []
    answers = []
    sessionStorage = new Storage()
    localStorage = new Storage()
    location = { href: 'https://app.example.com/', assign: (to) => void visited.push(new URL(to)) }
    const history = { replaceState: (_data: unknown, _unused: string, to: string) => (location.href = to) }
    const nothing = (): void => undefined
    const globals = {
      location,
      history,
      sessionStorage,
      localStorage,
      navigator: {},
      addEventListener: nothing,
      removeEventListener: nothing,
    }
    for (const [name, value] of Object.entries(globals)) {
      before.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    }
  })
  afterEach(() => {
    for (const [name, descriptor] of before)
      if (descriptor) Object.defineProperty(globalThis, name, descriptor)
      else Reflect.deleteProperty(globalThis, name)
  })

  const create = (options: Partial<SignInOptions> = {}) =>
    createSignIn({
      url,
      clientId: 'spa',
      redirectUri,
      async fetch(address, init) {
        const fields = Object.fromEntries(new URLSearchParams(String(init?.body as URLSearchParams)))
        posts.push({ path: new URL(address).pathname, fields })
        return answers.shift()!()
      },
      ...options,
    })
  const granted = (more: object = {}) =>
    Response.json({ access_token: 'a1', expires_in: 900, refresh_token: 'r1', ...more })

  /** Starts a sign-in and comes back with these parameters beside the state. */
  async function comeBack(
    page = create(),
    parameters: Record<string, string> = { code: 'c1', iss: url },
    returnTo = '/cart',
  ) {
    await page.signIn({ returnTo })
    const query = visited.at(-1)!.searchParams
    location.href = `${redirectUri}?${new URLSearchParams({ state: query.get('state')!, ...parameters }).toString()}`
    return { page, query }
  }

  test('the request has PKCE, state and nonce, which parameters cannot replace', async () => {
    const page = create()
    await page.signIn({ parameters: { prompt: 'login', state: 'mine', code_challenge_method: 'plain' } })
    const [address] = visited
    assert.equal(address!.origin + address!.pathname, `${url}/oauth2/authorize`)
    const query = Object.fromEntries(address!.searchParams)
    assert.equal(query['prompt'], 'login')
    assert.equal(query['code_challenge_method'], 'S256')
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(query[name]!, /^[\w-]{43}$/)
    assert.equal(query['scope'], 'openid profile email')
  })

  test('the answer’s code is exchanged with the verifier, and leaves the address', async () => {
    const { page, query } = await comeBack()
    answers = [() => granted({ id_token: idToken({ nonce: query.get('nonce'), name: 'Ada' }) })]
    assert.deepEqual(await page.handleCallback(), { returnTo: '/cart' })
    assert.equal(location.href, redirectUri)
    const { path, fields } = posts[0]!
    assert.equal(path, '/oauth2/token')
    const { code_verifier: verifier = '', ...others } = fields
    assert.equal(createHash('sha256').update(verifier).digest('base64url'), query.get('code_challenge'))
    assert.deepEqual(others, {
      grant_type: 'authorization_code',
      code: 'c1',
      redirect_uri: redirectUri,
      client_id: 'spa',
    })
    assert.equal(await page.getAccessToken(), 'a1')
    assert.equal(page.getUser()?.name, 'Ada')
    assert.deepEqual([localStorage.length, sessionStorage.length], [0, 0])
  })

  test('an address without an answer is left as it is', async () => {
    location.href = 'https://app.example.com/?state=x&q=1'
    assert.equal(await create().handleCallback(), null)
    assert.equal(location.href, 'https://app.example.com/?state=x&q=1')
  })

  test('an answer that this tab did not ask for, of another issuer, or seen before is refused', async () => {
    const { page } = await comeBack()
    const own = location.href
    location.href = `${redirectUri}?code=c1&state=forged&iss=${url}`
    await assert.rejects(page.handleCallback(), { code: 'unknown-state', status: 400 })
    location.href = own.replace(encodeURIComponent(url), encodeURIComponent('https://evil.example'))
    await assert.rejects(page.handleCallback(), { code: 'wrong-issuer' })
    location.href = own
    await assert.rejects(page.handleCallback(), { code: 'unknown-state' })
    const without = await comeBack(create(), { code: 'c1' })
    await assert.rejects(without.page.handleCallback(), { code: 'wrong-issuer' })
    assert.deepEqual(posts, [])
  })

  test('an error of the service is thrown with its code', async () => {
    const { page } = await comeBack(create(), {
      error: 'login_required',
      error_description: 'Sign in.',
      iss: url,
    })
    await assert.rejects(page.handleCallback(), { code: 'login_required', detail: 'Sign in.' })
  })

  for (const [what, claims] of [
    ['nonce', { nonce: 'other' }],
    ['audience', { aud: 'other' }],
    ['issuer', { iss: 'https://evil.example' }],
    ['end', { exp: 1 }],
  ] as const)
    test(`an id_token with another ${what} is refused, and nobody is signed in`, async () => {
      const { page, query } = await comeBack()
      answers = [() => granted({ id_token: idToken({ nonce: query.get('nonce'), ...claims }) })]
      await assert.rejects(page.handleCallback(), { code: 'invalid-token' })
      assert.equal(await page.getAccessToken(), undefined)
      assert.equal(page.getUser(), null)
    })

  test('two flows of one tab do not disturb each other', async () => {
    const page = create()
    await page.signIn({ returnTo: '/one' })
    await page.signIn({ returnTo: '/two' })
    for (const [index, returnTo] of [
      [1, '/two'],
      [0, '/one'],
    ] as const) {
      location.href = `${redirectUri}?code=c&iss=${encodeURIComponent(url)}&state=${visited[index]!.searchParams.get('state')}`
      answers = [() => granted()]
      assert.deepEqual(await page.handleCallback(), { returnTo })
    }
  })

  test('a token that ends soon is renewed once for concurrent calls', async () => {
    const { page } = await comeBack()
    answers = [() => granted({ expires_in: 10 }), () => granted({ access_token: 'a2', refresh_token: 'r2' })]
    await page.handleCallback()
    assert.deepEqual(await Promise.all([page.getAccessToken(), page.getAccessToken()]), ['a2', 'a2'])
    assert.deepEqual(posts[1]!.fields, { grant_type: 'refresh_token', refresh_token: 'r1', client_id: 'spa' })
    assert.equal(posts.length, 2)
  })

  test('of two tabs with one store, the second takes the tokens that the first renewed', async () => {
    const { page } = await comeBack(create({ keep: 'local' }))
    answers = [() => granted({ expires_in: 10 }), () => granted({ access_token: 'a2', refresh_token: 'r2' })]
    await page.handleCallback()
    const other = create({ keep: 'local' })
    assert.equal(await page.getAccessToken(), 'a2')
    assert.equal(await other.getAccessToken(), 'a2')
    assert.equal(posts.length, 2)
  })

  test('a refused renewal signs out; a failed one does not, while the token lives', async () => {
    const { page } = await comeBack()
    const changes: boolean[] = []
    answers = [
      () => granted({ expires_in: 10 }),
      () => Promise.reject(new TypeError('fetch failed')),
      () => Response.json({ error: 'invalid_grant' }, { status: 400 }),
    ]
    await page.handleCallback()
    page.onChange(() => changes.push(page.getUser() !== null))
    assert.equal(await page.getAccessToken(), 'a1')
    assert.equal(await page.getAccessToken(), undefined)
    assert.equal(changes.length, 1)
  })

  test('signing out forgets and revokes the tokens, and ends the session at the service', async () => {
    const { page, query } = await comeBack(create({ postLogoutRedirectUri: 'https://app.example.com/' }))
    const token = idToken({ nonce: query.get('nonce') })
    answers = [() => granted({ id_token: token }), () => new Response(null, { status: 503 })]
    await page.handleCallback()
    await page.signOut()
    assert.equal(await page.getAccessToken(), undefined)
    assert.deepEqual(posts[1], { path: '/oauth2/revoke', fields: { token: 'r1', client_id: 'spa' } })
    const end = visited.at(-1)!
    assert.equal(end.pathname, '/oauth2/end-session')
    assert.deepEqual(Object.fromEntries(end.searchParams), {
      client_id: 'spa',
      id_token_hint: token,
      post_logout_redirect_uri: 'https://app.example.com/',
    })
  })

  for (const keep of ['memory', 'local'] as const)
    test(`a renewal that is answered after the sign-out signs nobody in again (${keep})`, async () => {
      const { page } = await comeBack(create({ keep }))
      const renewal = Promise.withResolvers<Response>()
      const revoked = (): Response => new Response(null, { status: 200 })
      answers = [() => granted({ expires_in: 10 }), () => renewal.promise, revoked, revoked]
      await page.handleCallback()
      const renewed = page.getAccessToken()
      while (posts.length < 2) await new Promise((done) => setImmediate(done))
      await page.signOut({ local: true })
      renewal.resolve(granted({ access_token: 'a2', refresh_token: 'r2' }))
      assert.equal(await renewed, undefined)
      assert.equal(await page.getAccessToken(), undefined)
      const tokens = posts
        .filter(({ path }) => path === '/oauth2/revoke')
        .map(({ fields }) => fields['token'])
      assert.deepEqual(tokens, ['r1', 'r2'])
    })

  test('a renewal that is refused after a new sign-in leaves the new tokens', async () => {
    const { page } = await comeBack()
    const renewal = Promise.withResolvers<Response>()
    answers = [
      () => granted({ expires_in: 10 }),
      () => renewal.promise,
      () => granted({ access_token: 'b1', refresh_token: 's1' }),
    ]
    await page.handleCallback()
    const renewed = page.getAccessToken()
    // The request of the renewal goes out before that of the code.
    while (posts.length < 2) await new Promise((done) => setImmediate(done))
    await comeBack(page)
    await page.handleCallback()
    renewal.resolve(Response.json({ error: 'invalid_grant' }, { status: 400 }))
    assert.equal(await renewed, 'b1')
    assert.equal(await page.getAccessToken(), 'b1')
  })
})
