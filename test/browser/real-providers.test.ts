// Sign-in through Dex and Keycloak, in a browser. What the machine does not have is skipped.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { engines, freePort, listening, started, startTestService } from '../harness/index.ts'
import type { TestService } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { authorizeUrl, secret, token } from '../oauth2/harness.ts'
import { newPkce } from '../login/harness.ts'
import { launchBrowser, type SuiteBrowser } from './browser.ts'
import { password, person, realProviderKinds, type RealProvider } from './real-providers.ts'

type SignedIn = AnswerTo<'GET /auth/session'>

for (const kind of realProviderKinds)
  describe(`sign-in through ${kind.name}`, { skip: kind.missing }, () => {
    let provider: RealProvider
    let service: TestService
    let browser: SuiteBrowser
    let callback: string
    const app = started(() => listening(createServer((_request, response) => response.end('the app'))))
    before(async () => {
      callback = `${app.url}/callback`
      const port = String(await freePort())
      const base = `http://127.0.0.1:${port}`
      provider = await kind.start([`${base}/auth/${kind.name}/callback`, `${base}/oauth2/end-session/return`])
      service = await startTestService(engines[0]!, {
        env: { ...provider.env, PORT: port },
        config: {
          login: {
            clients: [
              { id: 'web', secret, redirectUris: [callback], postLogoutRedirectUris: [`${callback}/bye`] },
            ],
          },
        },
      })
      browser = await launchBrowser()
    })
    after(async () => {
      await browser?.close()
      await service?.close()
      await provider?.close()
    })

    /** A page in a browser of its own. */
    const newPage = async (): Promise<Page> => (await browser.newContext()).newPage()

    /** Where the app begins a sign-in. */
    const start = (more: Record<string, string> = {}, pkce = newPkce()): string =>
      authorizeUrl(service, { client_id: 'web', redirect_uri: callback, ...more }, pkce).href

    const atProvider = (url: URL): boolean => !url.href.startsWith(service.baseUrl)

    /** Enters the password at the provider. */
    async function enterPassword(page: Page): Promise<void> {
      await page.waitForURL(atProvider)
      const name = kind.name === 'dex' ? person.email : person.username
      await page.locator('input[name="login"], input[name="username"]').fill(name)
      await page.locator('input[name="password"]').fill(password)
      await page.locator('#kc-login, #submit-login').click()
    }

    async function signIn(page: Page): Promise<SignedIn> {
      await page.goto(`${service.baseUrl}/login`)
      await page.locator(`a[href^="/auth/${kind.name}"]`).click()
      await enterPassword(page)
      await page.waitForURL(/\/dashboard/)
      return (await (await page.request.get(`${service.baseUrl}/auth/session`)).json()) as SignedIn
    }

    test('a person enters a password at the provider, and has a session with a verified address', async () => {
      const { user } = await signIn(await newPage())
      assert.equal(user.email, person.email)
      assert.equal(user.email_verified, true)
      assert.equal(user.name, person.name)
    })

    test('an app sends a person there and back; a second app of the session asks for nothing', async () => {
      const page = await newPage()
      await page.goto(start())
      await page.locator(`a[href^="/auth/${kind.name}"]`).click()
      await enterPassword(page)
      await page.waitForURL(`${callback}?**`)
      await page.goto(start({ prompt: 'none' }))
      assert.ok(new URL(page.url()).searchParams.get('code'), page.url())
    })

    test('the same person signs in twice as the same user', async () => {
      const [first, second] = [await signIn(await newPage()), await signIn(await newPage())]
      assert.equal(first.sub, second.sub)
    })

    test(
      'an app that asks for a new sign-in gets one',
      { skip: kind.name === 'dex' && 'Dex does not support it' },
      async () => {
        const page = await newPage()
        await signIn(page)
        await page.goto(start({ prompt: 'login' }))
        await page.locator(`a[href^="/auth/${kind.name}"]`).click()
        await page.waitForURL(atProvider)
        await page.locator('input[name="password"]').fill(password)
        await page.locator('#kc-login').click()
        await page.waitForURL(`${callback}?**`)
        assert.ok(new URL(page.url()).searchParams.get('code'), page.url())
      },
    )

    test(
      'the sign-out of an app signs out at the provider too',
      { skip: kind.name === 'dex' && 'Dex does not support it' },
      async () => {
        const page = await newPage()
        await signIn(page)
        const pkce = newPkce()
        await page.goto(start({}, pkce))
        await page.waitForURL(`${callback}?**`)
        const { body } = await token(service, {
          grant_type: 'authorization_code',
          client_id: 'web',
          client_secret: secret,
          code: new URL(page.url()).searchParams.get('code')!,
          code_verifier: pkce.verifier,
          redirect_uri: callback,
        })
        const end = new URL('/oauth2/end-session', service.baseUrl)
        end.searchParams.set('id_token_hint', String(body['id_token']))
        end.searchParams.set('post_logout_redirect_uri', `${callback}/bye`)
        end.searchParams.set('state', 'over')
        await page.goto(end.href)
        // The provider asks first: it gets no id_token_hint.
        await page.waitForURL(atProvider)
        await page.locator('#kc-logout').click()
        await page.waitForURL(`${callback}/bye?state=over`)
        await page.goto(`${service.baseUrl}/auth/keycloak`)
        await page.waitForURL(atProvider)
        await page.locator('input[name="password"]').waitFor()
      },
    )
  })
