import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { engines, scoped, startTestService, type TestService } from '../harness/index.ts'
import { client, startShapedProvider, type ShapedProvider } from '../harness/shaped-provider.ts'
import { providerCases } from '../login/provider-shapes.ts'
import { collectErrors, launchBrowser, picture, type SuiteBrowser } from './browser.ts'

/** What only a browser knows: which cookies it sends, and how /login looks. */
describe('identity providers in a browser', () => {
  let apple: ShapedProvider
  let service: TestService
  let browser: SuiteBrowser
  let page: Page
  const complaints: string[] = []

  before(async () => {
    const { shape, env } = providerCases['apple']!
    apple = await startShapedProvider(shape)
    const more: Record<string, string> = {
      OKTA_DOMAIN: 'example.okta.com',
      AUTH0_DOMAIN: 'example.auth0.com',
      KEYCLOAK_BASE_URL: 'https://sso.example.com',
      KEYCLOAK_REALM: 'shop',
      COGNITO_USER_POOL_ID: 'eu-west-1_AbCdEfGhI',
      GITHUB_WORK_PRESET: 'github',
      GITHUB_WORK_NAME: 'GitHub (work)',
    }
    for (const name of [...Object.keys(providerCases), 'github_work']) {
      more[`${name.toUpperCase()}_CLIENT_ID`] = client.id
      more[`${name.toUpperCase()}_CLIENT_SECRET`] = client.secret
    }
    Object.assign(more, env(apple.url, 'APPLE'))
    // Another name is another site, so that the form is a foreign one to the browser, as Apple's is.
    more['APPLE_AUTH_URL'] = `${apple.url.replace('127.0.0.1', 'localhost')}/auth/authorize`
    service = await startTestService(engines[0]!, { env: more })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    collectErrors(page, complaints)
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await apple?.close()
  })

  test('/login shows every provider with its icon', async () => {
    await page.goto(`${service.baseUrl}/login`)
    const icons = page.locator('nav img')
    assert.equal(await icons.count(), 23)
    for (const icon of await icons.all())
      assert.ok(
        await icon.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
      )
    await picture(page, 'login-providers')
    assert.deepEqual(complaints, [])
  })

  test('Apple’s form comes from another site, and the sign-in still finds its cookie', async () => {
    await page.goto(`${service.baseUrl}/auth/apple`)
    assert.equal(new URL(page.url()).hostname, 'localhost')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL('**/dashboard')
    await page.getByText('Ada Lovelace').first().waitFor()
  })

  test('the same form for a sign-in that another browser began does nothing', async () => {
    await using other = scoped(await browser.newContext())
    const start = await (
      await browser.newContext()
    ).request.get(`${service.baseUrl}/auth/apple`, { maxRedirects: 0 })
    const victim = await other.newPage()
    await victim.goto(start.headers()['location']!)
    await victim.getByRole('button', { name: 'Continue' }).click()
    await victim.waitForURL('**/login?error=sign-in-expired&**')
    await picture(victim, 'login-failed')
  })
})
