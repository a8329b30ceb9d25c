import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, picture, signIn } from './browser.ts'

describe('the frame of the dashboard', () => {
  const complaints: string[] = []

  const service = started(() => startTestService(engines[0]!))
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, { width: 1440, height: 900 }, complaints))

  test('a link to a page survives the sign-in', async () => {
    await page.goto(`${service.baseUrl}/dashboard/system/audit?range=7d`)
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard/system/audit?range=7d')
    assert.equal(await page.getByLabel('Time range').inputValue(), '7d')
  })

  test('the keyboard alone reaches the content, the search and another page', async () => {
    await page.goto(`${service.baseUrl}/dashboard/account`)
    await page.getByRole('navigation').first().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await page.locator(':focus').getAttribute('id'), 'content')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('audit')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/system/audit*')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('an address without a page is explained, with a way on', async () => {
    await page.goto(`${service.baseUrl}/dashboard/nothing/here`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await assertAccessible(page)
    await picture(page, 'not-found')
    await page.getByRole('link', { name: 'To Home' }).click()
    await page.waitForURL(/\/dashboard\/?$/)
  })

  test('what does not exist any more is explained in the same way, without a retry that cannot help', async () => {
    for (const path of ['/subscribers/none', '/deliveries/999999', '/sources/none', '/failures/none']) {
      await page.goto(`${service.baseUrl}/dashboard${path}`)
      await page.getByRole('heading', { name: 'Not found' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0, path)
    }
    // The browser itself tells of each call that answered 404.
    complaints.splice(0)
  })

  test('a page whose script an update has removed is loaded again once, and then offers it within the frame', async () => {
    await page.goto(`${service.baseUrl}/dashboard/account`)
    await page.getByRole('link', { name: 'API keys' }).first().waitFor()
    let documents = 0
    page.on('request', (request) => {
      if (request.isNavigationRequest()) documents += 1
    })
    const script = /keys-page-[\w-]+\.js/
    await page.route(script, (route) => route.fulfill({ status: 404, body: '' }))
    await page.getByRole('link', { name: 'API keys' }).first().click()
    const reload = page.getByRole('button', { name: 'Reload' })
    await reload.waitFor()
    assert.equal(documents, 1)
    await page.getByRole('link', { name: 'Audit log' }).first().waitFor()
    await assertAccessible(page)
    await picture(page, 'missing-script')
    await page.unroute(script)
    await reload.click()
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    complaints.splice(0)
  })

  test('on a telephone all pages are reached by the bar at the bottom', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'API keys' }).click()
    await page.waitForURL('**/dashboard/system/keys*')
    await assertAccessible(page)
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('an ordinary user sees their account only', async () => {
    await page.context().clearCookies()
    await signIn(page, service, 'Grace Hopper')
    await page.getByRole('link', { name: 'Account' }).first().waitFor()
    assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0)
    for (const path of ['/subscribers', '/system/keys', '/users/none']) {
      await page.goto(`${service.baseUrl}/dashboard${path}`)
      await page.getByRole('heading', { name: 'Not allowed' }).waitFor()
      assert.equal(await page.getByText('No subscribers yet').count(), 0)
    }
    await page.getByRole('link', { name: 'To your account' }).click()
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
  })

  test('the browser had nothing to complain of', () => assert.deepEqual(complaints, []))
})
