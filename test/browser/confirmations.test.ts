import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { subscribe } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { launchBrowser, picture, signIn } from './browser.ts'

const address = 'http://127.0.0.1:9/hooks'

/** What is hard to undo happens after a dialog that names it, and not before. */
describe('confirmations', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  const changes: string[] = []
  const complaints: string[] = []

  before(async () => {
    service = await startTestService(engines[0]!, { env: { ALLOW_PRIVATE_NETWORK: 'true' } })
    await subscribe(service, { url: address })
    browser = await launchBrowser()
    for (const person of ['Grace Hopper', 'Ada Lovelace']) {
      const elsewhere = await browser.newContext()
      await signIn(await elsewhere.newPage(), service, person)
      await elsewhere.close()
    }
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await signIn(page, service, 'Ada Lovelace')
    await page
      .getByRole('button', { name: /^Link / })
      .first()
      .click()
    await page.getByText('Katherine Johnson').first().click()
    await page.waitForURL('**/dashboard')
    page.on('request', (request) => {
      if (request.method() !== 'GET') changes.push(`${request.method()} ${new URL(request.url()).pathname}`)
    })
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const dialog = () => page.getByRole('alertdialog')
  const drawer = () => page.locator('#drawer')
  const focused = () => page.evaluate<string>('document.activeElement.textContent')

  /** Presses Enter on a button that is not at work any more: until then it ignores that. */
  async function press(opener: Locator): Promise<void> {
    await opener.and(page.locator(':not([aria-disabled="true"])')).waitFor()
    await opener.focus()
    await page.keyboard.press('Enter')
  }

  /** Opens the dialog by keyboard and leaves it by Cancel and by Escape: nothing may have been called. */
  async function isAsked(opener: Locator, question: string | RegExp): Promise<void> {
    const label = await opener.textContent()
    changes.splice(0)
    for (const leave of ['Enter', 'Escape']) {
      await press(opener)
      await dialog().getByRole('heading', { name: question }).waitFor()
      assert.equal(await focused(), 'Cancel', 'a hasty Enter changes nothing')
      await page.keyboard.press(leave)
      await dialog().waitFor({ state: 'detached' })
      assert.equal(await focused(), label, 'the focus returns')
    }
    assert.deepEqual(changes, [])
  }

  /** Opens the dialog and confirms, by keyboard alone. */
  async function confirm(opener: Locator): Promise<void> {
    await press(opener)
    await dialog().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
  }

  test('the dialog is named and described, and keeps the focus', async () => {
    const grace = page.locator('#users tr', { hasText: 'Grace Hopper' })
    await grace.getByRole('button', { name: 'Make admin' }).click()
    const shown = page.getByRole('alertdialog', { name: 'Make Grace Hopper an admin?' })
    await shown.waitFor()
    const description = await shown.getAttribute('aria-describedby')
    assert.match(await page.locator(`#${description}`).innerText(), /grace@.*Their sessions end/)
    for (const key of ['Tab', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab', 'Shift+Tab']) {
      await page.keyboard.press(key)
      assert.equal(await page.evaluate(`document.activeElement.closest('[role=alertdialog]') !== null`), true)
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await picture(page, `confirmation-${colorScheme}`, false)
      await page.setViewportSize({ width: 390, height: 800 })
      await picture(page, `confirmation-${colorScheme}-narrow`, false)
      const box = await shown.boundingBox()
      assert.ok(box && box.x >= 0 && box.x + box.width <= 390, 'it fits on a telephone')
      await page.setViewportSize({ width: 1100, height: 800 })
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.keyboard.press('Escape')
  })

  test('a change of role', async () => {
    const grace = page.locator('#users tr', { hasText: 'Grace Hopper' })
    await isAsked(grace.getByRole('button', { name: 'Make admin' }), 'Make Grace Hopper an admin?')
    await confirm(grace.getByRole('button', { name: 'Make admin' }))
    await grace.getByRole('button', { name: 'Make user' }).waitFor()
    assert.match(changes.join(), /^PATCH \/users\/[^/,]+$/)
    assert.equal(await focused(), 'Make user', 'the focus stays in the row')
  })

  test('signing out one device, and all others', async () => {
    const one = page.locator('#sessions').getByRole('button', { name: 'Sign out' })
    await isAsked(one, /^Sign out Chrome on \w+\?$/)
    const all = page.getByRole('button', { name: 'Sign out everywhere else' })
    await isAsked(all, 'Sign out your other session?')
    await confirm(one)
    await one.waitFor({ state: 'detached' })
    assert.match(changes.join(), /^DELETE \/auth\/sessions\/[^/,]+$/)
    assert.notEqual(await page.evaluate('document.activeElement.nodeName'), 'BODY')
  })

  test('unlinking an identity', async () => {
    const unlink = page
      .locator('#identities tr', { hasText: 'Katherine Johnson' })
      .getByRole('button', { name: 'Unlink' })
    await isAsked(unlink, /^Unlink Katherine Johnson of \w+\?$/)
    await confirm(unlink)
    await unlink.waitFor({ state: 'detached' })
    assert.match(changes.join(), /^DELETE \/auth\/identities\/\w+$/)
  })

  test('pausing a subscriber, a new secret, and removing it', async () => {
    await page.getByRole('link', { name: address }).click()
    const named = (name: string) => drawer().getByRole('button', { name, exact: true })
    await isAsked(named('Pause'), `Pause deliveries to ${address}?`)
    await confirm(named('Pause'))
    await named('Resume').waitFor()
    assert.equal(await focused(), 'Resume')
    await isAsked(named('Rotate the secret'), `Make a new secret for ${address}?`)
    await confirm(named('Rotate the secret'))
    await drawer().locator('code.secret').first().waitFor()
    await isAsked(named('Remove'), `Remove ${address}?`)
    await named('Remove').click()
    await picture(page, 'confirmation-over-drawer', false)
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await drawer().waitFor({ state: 'hidden' })
    await page.getByText('Nobody yet.').waitFor()
    assert.match(changes.join(), /^DELETE \/subscribers\/[^/,]+$/)
    assert.notEqual(await page.evaluate('document.activeElement.nodeName'), 'BODY')
  })

  test('the browser reports no errors', () => {
    // A look at the subscriber may be under way while it is removed.
    const others = complaints.filter((text) => !/status of 404 .*\/subscribers\//.test(text))
    assert.deepEqual(others, [])
  })
})
