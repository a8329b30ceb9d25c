// The guide in a browser: reading, searching, phones, dark mode and accessibility.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines, started, startedService } from '../harness/index.ts'
import { assertFits } from './accessibility.ts'
import { callsElsewhere, launchBrowser, openPage } from './browser.ts'

/** The home page, a guide with tables and code, one with a diagram, a page of the reference, and results of a search. */
const pages = {
  home: '',
  guide: 'guides/senders/stripe.html',
  diagram: 'understanding/exactly-once.html',
  reference: 'reference/settings.html',
  search: 'search?q=retry+schedule',
}

describe('the guide', () => {
  const complaints: string[] = []
  let elsewhere: string[]
  const open = (path: string) => page.goto(`${service.baseUrl}/docs/guide/${path}`)

  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(() => {
    elsewhere = callsElsewhere(page, service)
  })

  test('begins with what Postern is, and leads on from page to page', async () => {
    await open('')
    await page.getByRole('heading', { level: 1, name: 'Postern' }).waitFor()
    await page.locator('.diagram svg').waitFor()
    await page.getByRole('link', { name: 'Tutorial', exact: true }).first().click()
    await page.waitForURL('**/tutorial.html')
    await page.getByRole('link', { name: /^Next page/ }).click()
    await page.locator('.side [aria-current="page"]').waitFor()
  })

  test('is searched from every page', async () => {
    await open(pages.guide)
    await page.getByRole('searchbox', { name: 'Search the guide' }).fill('advisory lock')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Search: advisory lock' }).waitFor()
    await page.locator('.results a').first().click()
    await page.waitForURL(({ href }) => !/stripe|search/.test(href))
    await page.locator('article h1').waitFor()
  })

  test('leads to the dashboard and to the API reference', async () => {
    await open('')
    await page.getByRole('link', { name: 'API reference' }).first().click()
    await page.waitForURL('**/docs')
    await page.getByRole('link', { name: 'Guide', exact: true }).first().click()
    await page.waitForURL('**/docs/guide/')
  })

  test('copies code, of a block with output the commands alone', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await open('tutorial/project.html')
    const block = page.locator('pre', { hasText: '$ npm run dev' })
    await block.hover()
    await block.getByRole('button', { name: 'Copy the code' }).click()
    await block.getByText('Copied').waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'npm run dev')
  })

  test('code and tables fit their column, on a telephone too', async () => {
    for (const path of [pages.guide, pages.reference, 'reference/providers.html', 'security/data.html']) {
      await open(path)
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        const wide = await page.evaluate<
          string[]
        >(`[...document.querySelectorAll('article pre, article table')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
          .map((one) => one.textContent.slice(0, 60))`)
        assert.deepEqual(wide, [], `${path} at ${width}`)
      }
    }
  })

  test('is dark where the system is', async () => {
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await page.emulateMedia({ colorScheme: 'light' })
    await open(pages.guide)
    const light = await ground()
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.notEqual(await ground(), light)
    await page.emulateMedia({ colorScheme: 'light' })
  })

  for (const [name, path] of Object.entries(pages))
    test(`axe finds no faults on the ${name} page, and it fits a phone`, async () => {
      await open(path)
      await page.locator('article h1').first().waitFor()
      await assertFits(page)
    })

  test('loads nothing from elsewhere and breaks no policy', () => {
    assert.deepEqual(elsewhere, [])
    assert.deepEqual(complaints, [])
  })
})
