import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { systemClock } from '../../src/runtime/clock.ts'
import { engines } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { answerDialog, launchBrowser, picture } from './browser.ts'

/** What people do with their account on the dashboard, and admins with others'. */
describe('the account on the dashboard', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  let shift = 0
  const complaints: string[] = []

  before(async () => {
    const clock = { ...systemClock, now: () => Date.now() + shift }
    service = await startTestService(engines[0]!, { parts: { clock } })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    const grace = await browser.newPage()
    await signIn(grace, 'Grace Hopper')
    await grace.close()
    await page.context().clearCookies()
    await signIn(page, 'Ada Lovelace')
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  async function signIn(page: Page, person: string): Promise<void> {
    await page.goto(`${service.baseUrl}/login`)
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText(person).first().click()
    await page.waitForURL('**/dashboard')
  }
  /** The provider tells the time of the sign-in by the machine's clock, so that it counts as recent by that clock alone. */
  async function signInAgain(): Promise<void> {
    shift = 0
    await signIn(page, 'Ada Lovelace')
  }
  const table = (name: string) => page.locator(`#${name}`)

  test('a click links a further identity, at the provider and back', async () => {
    await page
      .getByRole('button', { name: /^Link / })
      .first()
      .click()
    await page.getByText('Katherine Johnson').first().click()
    await page.waitForURL('**/dashboard')
    await table('identities').locator('tr').nth(1).waitFor()
    await table('activity').getByText('identity.linked').first().waitFor()
    await picture(page, 'dashboard-account')
  })

  test('an identity that belongs to another account: the page says what to do', async () => {
    await page
      .getByRole('button', { name: /^Link / })
      .first()
      .click()
    await page.getByText('Grace Hopper').first().click()
    await page.getByText('belongs to another account').waitFor()
    assert.equal(new URL(page.url()).pathname, '/login')
    await picture(page, 'identity-taken')
    await page.goto(`${service.baseUrl}/dashboard`)
    await table('activity').getByText('identity-taken').first().waitFor()
  })

  test('long after the sign-in the same click asks to sign in again first', async () => {
    shift = 3_600_000
    await page
      .getByRole('button', { name: /^Link / })
      .first()
      .click()
    await page.getByText('Please sign in again').waitFor()
    await picture(page, 'sign-in-again')
    await signInAgain()
  })

  test('and so does a click that unlinks, which works after it', async () => {
    const identities = table('identities').locator('tr')
    await identities.first().waitFor()
    const before = await identities.count()
    shift = 3_600_000
    await page.getByRole('button', { name: 'Unlink' }).last().click()
    await answerDialog(page, 'Unlink')
    await page.getByText('Please sign in again').waitFor()
    // A browser tells of every 403 that a page's own call gets: this one is meant, and there is no other.
    const [refused, ...others] = complaints.splice(0)
    assert.match(refused ?? '', /status of 403/)
    assert.deepEqual(others, [])
    await signInAgain()
    await identities.first().waitFor()
    assert.equal(await identities.count(), before)
    await page.getByRole('button', { name: 'Unlink' }).last().click()
    await answerDialog(page, 'Unlink')
    await identities.nth(before - 1).waitFor({ state: 'detached' })
    assert.equal(await identities.count(), before - 1)
  })

  test('an admin makes another one admin, and the audit log tells of it', async () => {
    const grace = table('users').locator('tr', { hasText: 'Grace Hopper' })
    await grace.getByRole('button', { name: 'Make admin' }).click()
    await answerDialog(page, 'Make admin')
    await grace.getByRole('button', { name: 'Make user' }).waitFor()
    await page.reload()
    await table('audit').getByText('user.role_changed').first().waitFor()
    await page.getByLabel('only failures').check()
    await table('audit').getByText('user.role_changed').first().waitFor({ state: 'detached' })
    await table('audit').getByText('identity.link_failed').first().waitFor()
    await picture(page, 'dashboard-audit')
  })

  test('devices are listed in words, and one click signs the others out', async () => {
    const other = await browser.newContext()
    const elsewhere = await other.newPage()
    await signIn(elsewhere, 'Ada Lovelace')
    await page.reload()
    const devices = table('sessions')
    await devices.getByText('this one').waitFor()
    assert.match(await devices.innerText(), /Chrome on \w+/)
    const before = await devices.locator('tr').count()
    assert.ok(before >= 2, `${before} devices`)
    await picture(page, 'dashboard-devices')
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await answerDialog(page, 'Sign out everywhere else')
    await page.waitForFunction("document.querySelectorAll('#sessions tr').length === 1")
    await elsewhere.reload()
    await elsewhere.waitForURL('**/login**')
    await page.reload()
    await devices.getByText('this one').waitFor()
    await other.close()
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(complaints, [])
  })
})
