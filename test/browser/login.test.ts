// The pages without scripts: sign-in, errors, devices, sign-out.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, started, startedService, startOAuthProvider } from '../harness/index.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser } from './browser.ts'

describe('pages for people in a browser', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({
    env: { ...provider.env('ACME'), BRAND_NAME: 'Acme Gate', BRAND_COLOR: '#ff8800' },
  }))
  const browser = started(launchBrowser)

  test('without JavaScript a person signs in, and the provider is remembered', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(`${service.baseUrl}/login`)
    const buttons = page.getByRole('navigation', { name: 'Ways to sign in' }).getByRole('link')
    assert.equal(await buttons.count(), 2)
    assert.match(await buttons.first().innerText(), /Acme/)
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard')
    await page.goto(`${service.baseUrl}/login`)
    const cookie = (await context.cookies()).find(({ name }) => name === 'postern_session')!
    const sessionStatus = async () =>
      (await service.fetch('/auth/session', { headers: { cookie: `${cookie.name}=${cookie.value}` } })).status
    assert.equal(await sessionStatus(), 200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/login')
    assert.equal(await sessionStatus(), 401)
    await page.goto(`${service.baseUrl}/login`)
    assert.match(await buttons.first().innerText(), /development provider.*Last used/)
    await context.close()
  })

  test('they are accessible in both themes', async () => {
    const page = await browser.newPage()
    await page.goto(`${service.baseUrl}/login`)
    const provider = page.getByRole('link', { name: /development provider/ })
    for (const width of [400, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      const button = await provider.boundingBox()
      assert.ok(button && button.height < 50, `one line at ${width}`)
    }
    await provider.click()
    const people = await page.locator('button.person').all()
    const widths = await Promise.all(people.map(async (person) => (await person.boundingBox())?.width))
    assert.equal(new Set(widths).size, 1, 'buttons of one width')
    assert.equal(await page.locator('button.person', { hasText: 'admin' }).count(), 1)
    await assertAccessible(page)
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard')
    for (const path of [
      '/login?select_account=true',
      '/login?error=access-denied&id=1234&provider=acme',
      '/login',
      '/nope',
      '/device',
      '/oauth2/end-session',
    ]) {
      await page.goto(service.baseUrl + path)
      assert.equal(await page.locator('h1').count(), 1, path)
      assert.equal(await page.locator('main').count(), 1, path)
      assert.match(await page.title(), / · Acme Gate$/, path)
      await assertAccessible(page)
    }
    await page.close()
  })
})
