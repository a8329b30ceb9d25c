// Auth.js (`@auth/core`) as it is, through its own request handler: the provider is `type: 'oidc'` with issuer, id and secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onOneEngine } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

// Its types bring those of browsers, which would replace Node's in the whole project.
const { Auth } = (await import(import.meta.resolve('@auth/core'))) as {
  Auth: (request: Request, config: object) => Promise<Response>
}

const origin = 'https://authjs.example.com'
const redirectUri = `${origin}/auth/callback/postern`

/** A browser in which the application answers for its own host. */
class BrowserOfApp extends Browser {
  readonly #app: (request: Request) => Promise<Response>

  constructor(app: (request: Request) => Promise<Response>) {
    super()
    this.#app = app
  }

  protected override send(url: URL, init: RequestInit): Promise<Response> {
    return url.origin === origin ? this.#app(new Request(url, init)) : super.send(url, init)
  }
}

onOneEngine('Auth.js', (engine) => {
  const stock = useStockService(engine, () => [
    { id: 'authjs', secret: webSecret, redirectUris: [redirectUri] },
  ])

  async function signIn(more: object): Promise<unknown> {
    const provider = {
      id: 'postern',
      name: 'Postern',
      type: 'oidc',
      issuer: stock.service.baseUrl,
      clientId: 'authjs',
      clientSecret: webSecret,
      ...more,
    }
    const config = {
      basePath: '/auth',
      trustHost: true,
      secret: 'a-secret-of-the-application-itself',
      providers: [provider],
      logger: { error: (error: Error) => console.error(error) },
    }
    const browser = new BrowserOfApp((request) => Auth(request, config))
    const { csrfToken } = (await (await browser.go(`${origin}/auth/csrf`)).json()) as { csrfToken: string }
    const started = await browser.go(`${origin}/auth/signin/postern`, {
      method: 'POST',
      body: new URLSearchParams({ csrfToken, callbackUrl: `${origin}/inside` }),
    })
    assert.equal(started.status, 302)
    const callback = await toApp(
      stock.service,
      browser,
      new URL(started.headers.get('location')!),
      redirectUri,
    )
    const back = await browser.go(callback)
    assert.equal(back.headers.get('location'), `${origin}/inside`)
    const session = await browser.go(`${origin}/auth/session`)
    return ((await session.json()) as { user: unknown }).user
  }

  test('signs in with its defaults', async () => {
    assert.deepEqual(await signIn({}), { name: 'Ann', email: 'ann@example.com' })
  })

  test('signs in with PKCE, state and nonce', async () => {
    const user = await signIn({ checks: ['pkce', 'state', 'nonce'] })
    assert.deepEqual(user, { name: 'Ann', email: 'ann@example.com' })
  })

  test('signs in with client_secret_post, and without PKCE', async () => {
    const user = await signIn({
      checks: ['state'],
      client: { token_endpoint_auth_method: 'client_secret_post' },
    })
    assert.deepEqual(user, { name: 'Ann', email: 'ann@example.com' })
  })
})
