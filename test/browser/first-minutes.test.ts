import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { provider } from '../../src/cli/samples/provider.ts'
import { engines } from '../harness/engines.ts'
import { startTestService, webhookSecret, type TestService } from '../harness/service.ts'
import { launchBrowser, picture } from './browser.ts'

/** What a newcomer does in a browser: sign in, see a webhook arrive, look at the API, sign out. */
describe('the first minutes', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  const complaints: string[] = []

  before(async () => {
    service = await startTestService(engines[0]!)
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  test('a visitor of the dashboard is sent to sign in', async () => {
    await page.goto(`${service.baseUrl}/dashboard`)
    assert.equal(new URL(page.url()).pathname, '/login')
    await picture(page, 'login')
  })

  test('signs in through the built-in provider and arrives at the dashboard', async () => {
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').waitFor()
    await picture(page, 'provider')
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard')
    await page.getByText('Ada Lovelace (admin)').waitFor()
    await page.getByText('this one').waitFor()
    await picture(page, 'dashboard-empty')
  })

  test('the session cookie cannot be read by scripts', async () => {
    assert.equal(await page.evaluate('document.cookie'), '')
  })

  test('a signed webhook appears by itself', async () => {
    const { body, headers } = provider({
      type: 'order.paid',
      secret: webhookSecret,
      id: 'evt_browser',
      now: 0,
      data: {},
    })
    const response = await service.fetch('/webhooks/provider', {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
    })
    assert.equal(response.status, 200)
    await page.getByText('evt_browser').waitFor()
    await page.getByText('processed').first().waitFor()
    await picture(page, 'dashboard')
  })

  test('looks decent on a telephone and in the dark', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 390, height: 800 })
    await picture(page, 'dashboard-dark-narrow')
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.equal(overflow, 0, 'the page does not scroll sideways')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1100, height: 800 })
  })

  test('the API reference shows the calls', async () => {
    const reference = await browser.newPage({ viewport: { width: 1300, height: 900 } })
    await reference.goto(`${service.baseUrl}/docs`)
    await reference.getByText('Postern').first().waitFor()
    await reference.getByText('Receiving', { exact: false }).first().waitFor()
    await picture(reference, 'docs', false)
    await reference.close()
  })

  test('signs out, and the session is over on the server', async () => {
    const cookie = (await page.context().cookies()).find(({ name }) => name.endsWith('postern_session'))
    assert.ok(cookie)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/login')
    const kept = await service.fetch('/auth/session', {
      headers: { cookie: `${cookie.name}=${cookie.value}` },
    })
    assert.equal(kept.status, 401)
  })

  test('a failed sign-in is told in words', async () => {
    await page.goto(`${service.baseUrl}/auth/demo/callback?state=forged&code=forged`)
    assert.equal(new URL(page.url()).pathname, '/login')
    await page.locator('.message').waitFor()
    await picture(page, 'login-failed')
  })

  test('no page complained', () => assert.deepEqual(complaints, []))
})
