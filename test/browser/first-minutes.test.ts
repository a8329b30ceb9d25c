import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { samples } from '../../src/receiving/samples/index.ts'
import { engines, started, startedService, webhookSecret } from '../harness/index.ts'
import { collectErrors, launchBrowser, picture } from './browser.ts'

/** What a newcomer does in a browser: sign in, see a webhook arrive, sign out. */
describe('the first minutes', () => {
  const complaints: string[] = []

  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage({ viewport: { width: 1100, height: 800 } }))
  before(() => collectErrors(page, complaints))

  test('a visitor of the dashboard is redirected to the sign-in', async () => {
    await page.goto(`${service.baseUrl}/dashboard`)
    assert.equal(new URL(page.url()).pathname, '/login')
    await picture(page, 'login')
    const button = await page.getByRole('link', { name: /development provider/ }).boundingBox()
    assert.ok(button && button.height < 50, 'one line')
    await page.setViewportSize({ width: 400, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture(page, 'login-dark-narrow')
    const narrow = await page.getByRole('link', { name: /development provider/ }).boundingBox()
    assert.ok(narrow && narrow.height < 50, 'one line')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1100, height: 800 })
  })

  test('signs in through the built-in provider and arrives at the dashboard', async () => {
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').waitFor()
    await picture(page, 'provider')
    const people = await page.locator('button.person').all()
    const widths = await Promise.all(people.map(async (person) => (await person.boundingBox())?.width))
    assert.equal(new Set(widths).size, 1, 'buttons of one width')
    assert.equal(await page.locator('button.person', { hasText: 'admin' }).count(), 1)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 400, height: 800 })
    await picture(page, 'provider-dark-narrow')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1100, height: 800 })
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard')
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.getByText('Nothing needs attention.').waitFor()
    await picture(page, 'dashboard-empty')
  })

  test('a signed webhook appears by itself', async () => {
    const { body, headers } = samples['provider']!({
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
    const step = page.getByRole('listitem').filter({ hasText: 'Receive a webhook' })
    await step.getByText('(done)').waitFor()
    await picture(page, 'dashboard')
  })

  test('no page reported errors', () => assert.deepEqual(complaints, []))

  test('/login says who is signed in', async () => {
    await page.goto(`${service.baseUrl}/login`)
    await page.getByText('You are signed in as Ada Lovelace').waitFor()
    await picture(page, 'login-signed-in')
    await page.getByRole('link', { name: 'Go to the dashboard' }).click()
    await page.waitForURL('**/dashboard')
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

  test('a failed sign-in shows a message', async () => {
    await page.goto(`${service.baseUrl}/auth/demo/callback?state=forged&code=forged`)
    assert.equal(new URL(page.url()).pathname, '/login')
    await page.locator('.message').waitFor()
    await picture(page, 'login-failed')
  })
})
