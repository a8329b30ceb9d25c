import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { bodySigners } from '../../src/receiving/samples/body-signers.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import { startTestService, webhookSecret, type TestService } from '../harness/service.ts'
import { postWebhook } from '../receiving/harness.ts'
import { answerDialog, launchBrowser, picture } from './browser.ts'

/** What a newcomer does in a browser: sign in, see a webhook arrive, look at the API, sign out. */
describe('the first minutes', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  let failing: Receiver
  const complaints: string[] = []

  before(async () => {
    service = await startTestService(engines[0]!)
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    listen(page)
    failing = await startReceiver((response) => void response.writeHead(500).end('out of paper'))
  })
  after(async () => {
    await failing?.close()
    await browser?.close()
    await service?.close()
  })

  function listen(page: Page): void {
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
  }

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
    await page.getByText('Ada Lovelace (admin)').waitFor()
    await page.getByText('this one').waitFor()
    for (const list of ['#audit', '#activity', '#users']) await page.locator(`${list} tr`).first().waitFor()
    const places = page.getByRole('navigation', { name: 'On this page' })
    await places.getByRole('link', { name: 'Audit log' }).click()
    await page.waitForFunction(`document.querySelector('#audit-section').getBoundingClientRect().top < 800`)
    assert.ok((await places.boundingBox())!.y >= 0, 'the way back stays in sight')
    await places.getByRole('link', { name: 'Events' }).click()
    await picture(page, 'dashboard-empty')
  })

  test('the session cookie cannot be read by scripts', async () => {
    assert.equal(await page.evaluate('document.cookie'), '')
  })

  test('a signed webhook appears by itself', async () => {
    const { body, headers } = bodySigners.provider({
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
    await page.locator('#events .state', { hasText: 'processed' }).first().waitFor()
    await picture(page, 'dashboard')
  })

  test('a click opens the event: its payload digit for digit, headers, processing', async () => {
    const body =
      '{"id":"evt_exact","type":"order.counted","count":9007199254740993,"tags":[],"text":"a\\"{b"}'
    await postWebhook(service, body)
    await page.getByRole('link', { name: 'order.counted' }).click()
    const drawer = page.locator('#drawer')
    await drawer.getByText('"count": 9007199254740993,').waitFor()
    await drawer.getByText('"tags": [],').waitFor()
    await drawer.getByText('Processing').waitFor()
    await drawer.getByText('processed').first().waitFor()
    await picture(page, 'event', false)
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'hidden' })
    await page.waitForURL('**/dashboard')
  })

  test('a subscriber is added, its secret shown once; a failing delivery tells why and is replayed', async () => {
    await page.getByText('Add a subscriber').click()
    await page.getByLabel('Address').fill(failing.url)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const drawer = page.locator('#drawer')
    await drawer.locator('code.secret').waitFor()
    await picture(page, 'subscriber-new', false)
    await drawer.getByRole('button', { name: 'Send a test event' }).click()
    await drawer.getByText('1 attempt · answered 500').first().waitFor()
    await drawer.getByRole('button', { name: 'Pause' }).click()
    await answerDialog(page, 'Pause')
    await drawer.getByText('paused').waitFor()
    await drawer.getByRole('button', { name: 'Resume' }).click()
    await drawer.getByText('active').waitFor()
    const first = await drawer.locator('code.secret').textContent()
    await drawer.getByRole('button', { name: 'Rotate the secret' }).click()
    await answerDialog(page, 'Rotate the secret')
    await drawer.locator('code.secret', { hasNotText: first! }).waitFor()
    await picture(page, 'subscriber', false)

    await drawer.locator('tbody a').first().click()
    await drawer.getByText('Attempt 1').waitFor()
    await drawer.getByText('Answer', { exact: true }).first().click()
    await drawer.getByText('out of paper').first().waitFor()
    await picture(page, 'delivery', false)
    await drawer.getByRole('button', { name: 'Send now' }).click()
    await drawer.getByText('Attempt 2').waitFor()
    await drawer.locator('dd a').first().click()
    await drawer.getByText('Payload').waitFor()
    await drawer.getByText('answered 500').first().waitFor()
    await picture(page, 'event-emitted', false)
    await drawer.getByRole('button', { name: 'Close' }).click()
  })

  test('the newest event comes first, and a long log costs one small page', async () => {
    for (const [first, last] of [
      [1, 30],
      [31, 45],
    ] as const) {
      for (let number = first; number <= last; number += 1)
        await postWebhook(service, { id: `evt_many_${number}`, type: 'order.many' })
      await page.locator('#events tr').first().getByText(`evt_many_${last}`).waitFor()
    }
    assert.equal(await page.locator('#events tr').count(), 20)
    const subscribers = await page.locator('#subscribers-title').boundingBox()
    assert.ok(subscribers && subscribers.y < 1100, 'the subscribers are not far below')
    await page.getByRole('button', { name: 'Older' }).click()
    await page.locator('#events tr').nth(39).waitFor()
    await postWebhook(service, { id: 'evt_last', type: 'order.last' })
    await page.locator('#events tr').first().getByText('evt_last').waitFor()
    assert.equal(await page.locator('#events tr').count(), 41, 'what was asked for stays')
    await picture(page, 'dashboard-long')
  })

  test('fits a phone and has a dark mode', async () => {
    await page.reload()
    await page.getByText('evt_last').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width: 400, height: 800 })
      await page.evaluate("location.hash = ''")
      await picture(page, `dashboard-${colorScheme}-narrow`)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.equal(overflow, 0, 'the page does not scroll sideways')
      const status = await page.locator('#events .state').first().boundingBox()
      assert.ok(status && status.x + status.width <= 400, 'the status is on the screen')
      const signOut = await page.locator('#sign-out').boundingBox()
      assert.ok(signOut && signOut.height < 45, 'one line')
      await page.locator('#events a').first().click()
      await page.locator('#drawer').getByText('Payload').waitFor()
      await picture(page, `event-${colorScheme}-narrow`, false)
      await page.getByRole('button', { name: 'Close' }).click()
      await page.setViewportSize({ width: 1100, height: 800 })
      await picture(page, `dashboard-${colorScheme}`, false)
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  test('/login says who is signed in', async () => {
    await page.goto(`${service.baseUrl}/login`)
    await page.getByText('You are signed in as Ada Lovelace').waitFor()
    await picture(page, 'login-signed-in')
    await page.getByRole('link', { name: 'To the dashboard' }).click()
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

  test('no page reported errors', () => assert.deepEqual(complaints, []))
})
