import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { languageOf, languageTags } from '../../src/http/pages/language/languages.ts'
import { engines, started, startedService, startReceiver } from '../harness/index.ts'
import { startDevice } from '../oauth2/device-harness.ts'
import { authorizeUrl } from '../oauth2/harness.ts'
import { assertFits } from './accessibility.ts'
import { launchBrowser, pictures } from './browser.ts'

describe('the pages for end users in each language', () => {
  const app = started(() =>
    startReceiver((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><h1>The app</h1>'),
    ),
  )
  const service = startedService(engines[0]!, () => ({
    env: {
      BRAND_TERMS_URL: 'https://example.com/terms',
      BRAND_PRIVACY_URL: 'https://example.com/privacy',
      BRAND_SUPPORT: 'support@example.com',
    },
    config: {
      login: {
        clients: [
          { id: 'forum', name: 'Forum', firstParty: false, redirectUris: [app.url] },
          { id: 'cli', name: 'Acme command line', deviceGrant: true, firstParty: false },
        ],
      },
    },
  }))
  const browser = started(launchBrowser)

  /** Checks a page that is shown: its language, that no text is missing, and that it fits on a telephone. */
  async function check(page: Page, tag: string, name: string): Promise<void> {
    assert.equal(await page.evaluate('document.documentElement.lang'), tag, name)
    const text = await page.locator('body').innerText()
    assert.doesNotMatch(text, /[{}]|undefined/, name)
    // The pages are the same in all languages but for their texts.
    if (tag === 'de') return assertFits(page)
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      const overflow = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
      assert.equal(overflow, false, `${tag} ${name} at ${width}`)
    }
    await pictures(page, `${name}-${tag}`)
  }

  for (const tag of languageTags)
    test(`${tag}: sign-in, consent, device, sign-out and errors`, async () => {
      const { words } = languageOf(tag.slice(0, 2))
      const context = await browser.newContext({ locale: tag })
      const page = await context.newPage()
      const open = (path: string) => page.goto(new URL(path, service.baseUrl).href)
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
      const start = authorizeUrl(service, {
        client_id: 'forum',
        redirect_uri: app.url,
        scope: 'openid profile email groups offline_access',
      })
      await open('/login?return_to=/dashboard')
      await check(page, tag, 'sign-in')
      await open('/nowhere')
      await check(page, tag, 'error')
      await open('/login?error=account-blocked&id=5c198bca')
      assert.equal(
        await page.getByRole('link', { name: words.common.contactSupport }).getAttribute('href'),
        'mailto:support@example.com',
      )
      await check(page, tag, 'blocked')

      await page.goto(start.href)
      await page.getByRole('link', { name: /development provider/ }).click()
      await page.getByText('Ada Lovelace').first().click()
      await page.getByRole('button', { name: words.common.allow, exact: true }).waitFor()
      await check(page, tag, 'consent')
      await page.goto(`${start.href}&client_id=other`)
      await check(page, tag, 'wrong-request')

      const device = await startDevice(service, { client_id: 'cli', scope: 'openid email' })
      await open('/device?user_code=WRONG')
      await check(page, tag, 'device-code')
      await open(`/device?user_code=${device.user_code}`)
      await press(words.common.allow)
      await page.getByText(words.device.notCompared).waitFor()
      await check(page, tag, 'device')
      await page.getByRole('checkbox').check()
      await press(words.common.allow)
      await page.getByRole('heading', { name: words.device.doneTitle }).waitFor()

      await open('/oauth2/end-session?client_id=nobody')
      await check(page, tag, 'sign-out-rejected')
      await open('/oauth2/end-session?client_id=forum')
      await check(page, tag, 'sign-out')
      await press(words.signOut.confirm)
      await page.getByRole('heading', { name: words.signOut.doneTitle }).waitFor()
      await check(page, tag, 'signed-out')
      await context.close()
    })
})
