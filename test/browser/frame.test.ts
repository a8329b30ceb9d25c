import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { engines, started, startedService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, picture, signIn } from './browser.ts'

describe('the frame of the dashboard', () => {
  const complaints: string[] = []

  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))

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
    await page.locator('#content:focus').waitFor()
    await openSearch(page)
    await page.keyboard.type('audit')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/system/audit*')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('the keyboard goes on where it was: in the page that a link opened, and on the button that was busy', async () => {
    await page.goto(`${service.baseUrl}/dashboard/event-types`)
    await page.getByRole('link', { name: 'postern.test' }).press('Enter')
    await page.getByRole('heading', { name: 'postern.test', level: 1 }).waitFor()
    await page.locator('#content:focus').waitFor()
    await page.goto(`${service.baseUrl}/dashboard/system/doctor`)
    await page.getByRole('button', { name: 'Run checks' }).press('Enter')
    await page.getByRole('button', { name: 'Run again' }).and(page.locator(':focus')).waitFor()
  })

  test('the search lists each page once, also after one was opened from it', async () => {
    await page.goto(`${service.baseUrl}/dashboard/account`)
    const search = await openSearch(page)
    await search.fill('users')
    await search.press('Enter')
    await page.waitForURL('**/dashboard/users*')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await openSearch(page)
    const options = page.getByRole('dialog').getByRole('option')
    const titles = await options.allInnerTexts()
    const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option')
    assert.equal((await recent.allInnerTexts())[0], 'Users')
    assert.deepEqual(
      titles.filter((title) => title.includes('Users')),
      titles.slice(0, 1),
    )
    await search.fill('deliv')
    await search.fill('')
    assert.deepEqual(await options.allInnerTexts(), titles)
    await picture(page, 'palette-reopened', false)
    await search.fill('zzzz')
    await page.getByText('Nothing was found.').waitFor()
    assert.equal(await options.count(), 0)
    await page.keyboard.press('Escape')
  })

  test('the search waits for a pause in typing', async () => {
    const other = await openPage(browser, complaints)
    await other.clock.install()
    await signIn(other, service, 'Ada Lovelace')
    await other.goto(`${service.baseUrl}/dashboard/account`)
    await openSearch(other)
    const asked: (string | null)[] = []
    other.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url())
      if (pathname === '/search') asked.push(searchParams.get('q'))
    })
    await other.clock.pauseAt(Date.now() + 3_600_000)
    await other.keyboard.type('ada lovelace')
    await other.getByText('Searching…').waitFor()
    await Promise.all([other.waitForResponse(/\/search\?/), other.clock.runFor(1_000)])
    assert.deepEqual(asked, ['ada lovelace'])
    await other.close()
  })

  test('where the browser forbids storage, the search opens pages and the theme changes', async () => {
    const other = await openPage(browser, complaints)
    await signIn(other, service, 'Ada Lovelace')
    await other.addInitScript(() =>
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('denied', 'SecurityError')
        },
      }),
    )
    await other.goto(`${service.baseUrl}/dashboard/`)
    await other.getByRole('button', { name: 'Theme: system' }).click()
    await other.getByRole('button', { name: 'Theme: light' }).waitFor()
    const search = await openSearch(other)
    await search.fill('audit')
    await search.press('Enter')
    await other.waitForURL('**/dashboard/system/audit*')
    await other.close()
  })

  test('a short page does not scroll', async () => {
    await page.goto(`${service.baseUrl}/dashboard/system/keys`)
    await page.getByText('No API keys yet').waitFor()
    const { height, shown } = await page.evaluate<{ height: number; shown: number }>(
      '({ height: document.documentElement.scrollHeight, shown: document.documentElement.clientHeight })',
    )
    assert.equal(height, shown)
  })

  test('an address without a page is explained, with a way on', async () => {
    await page.goto(`${service.baseUrl}/dashboard/nothing/here`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await assertAccessible(page)
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
    const bar = page.getByRole('navigation', { name: 'Main pages' })
    await bar.getByRole('link', { name: 'Deliveries' }).click()
    await page.waitForURL('**/dashboard/deliveries*')
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      // The address changes before the page does.
      await eventually(async () => {
        const colors = await page.evaluate<[name: string, color: string][]>(
          `[...document.querySelectorAll('nav[aria-label="Main pages"] a')].map((link) =>
            [link.textContent.trim(), getComputedStyle(link).color])`,
        )
        const current = new Map(colors).get('Deliveries')
        return colors.filter(([, color]) => color === current).length === 1
      }, 'the current page has a color of its own')
      await picture(page, `bottom-bar-${theme}`, false)
    }
    await assertAccessible(page)
    await page.emulateMedia({ colorScheme: null })
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('an ordinary user sees their account only', async () => {
    // A page of the dashboard that lost its session goes to /login by itself, and the console reports its 401.
    await page.goto('about:blank')
    await page.context().clearCookies()
    await signIn(page, service, 'Grace Hopper')
    await page.getByRole('link', { name: 'Account' }).first().waitFor()
    assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0)
    for (const path of ['/subscribers', '/system/keys', '/users/none']) {
      await page.goto(`${service.baseUrl}/dashboard${path}`)
      await page.getByRole('heading', { name: 'Not allowed' }).waitFor()
      assert.equal(await page.getByText('No subscribers yet').count(), 0)
    }
    await page.getByRole('link', { name: 'Go to your account' }).click()
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
  })

  test('the browser had nothing to complain of', () => assert.deepEqual(complaints, []))
})

async function openSearch(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: /^Theme/ }).waitFor()
  await page.keyboard.press('Control+k')
  const search = page.getByRole('combobox', { name: 'Page, ID, email address or name' })
  await search.waitFor()
  // Without the focus, the first keys would be lost.
  await page.locator('[role=combobox]:focus').waitFor()
  return search
}
