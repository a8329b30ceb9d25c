// The site of docs/ as the service serves it.
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'
import { eventually } from '../receiving/harness.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, picture } from './browser.ts'

const built = join(import.meta.dirname, '../../site/dist')
/** The home page, a guide with a table and code, a page of the reference. */
const pages = { home: '', guide: 'guides/senders/stripe.html', reference: 'reference/commands.html' }

describe('the guide', () => {
  const complaints: string[] = []
  const elsewhere: string[] = []
  const open = (path: string) => page.goto(`${service.baseUrl}/docs/guide/${path}`)

  const service = started(() => startTestService(engines[0]!))
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, { width: 1440, height: 900 }, complaints))
  before(async () => {
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (/^https?:$/.test(protocol) && origin !== service.baseUrl) elsewhere.push(request.url())
    })
  })

  test('begins with what Postern is, and how to start it', async () => {
    await open('')
    await page.getByRole('heading', { level: 1, name: 'The gate of a product' }).waitFor()
    await page.getByText('npx postern init shop --yes').waitFor()
    await page.locator('.diagram svg').waitFor()
    await page.getByRole('link', { name: 'Tutorial', exact: true }).first().click()
    await page.waitForURL('**/tutorial.html')
  })

  test('plays the recording when a reader asks for it', async () => {
    await open('')
    const image = page.getByAltText(/^A terminal/)
    const button = page.getByRole('button', { name: 'Play the first minute' })
    assert.match((await image.getAttribute('src'))!, /\.svg#still$/)
    await image.scrollIntoViewIfNeeded()
    await eventually(
      () => page.evaluate<boolean>(`document.querySelector('.recording img').naturalWidth > 0`),
      'the recording has been loaded',
    )
    await button.click()
    await page.locator('.recording img[src$=".svg?1"]').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await button.waitFor()
  })

  test('is searched on the machine of the reader', async () => {
    await open(pages.guide)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('advisory lock')
    await page.locator('.VPLocalSearchBox .result').first().click()
    await page.locator('.VPLocalSearchBox').waitFor({ state: 'detached' })
    assert.doesNotMatch(page.url(), /stripe/)
  })

  test('is dark on request, and stays so', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    await open(pages.guide)
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.getByRole('switch', { name: /dark/i }).first().click()
    await page.locator('html.dark').waitFor({ state: 'attached' })
    assert.notEqual(await ground(), light)
    await open(pages.reference)
    assert.ok(await page.evaluate<boolean>(`document.documentElement.classList.contains('dark')`))
    // Back to what the machine prefers.
    await page.evaluate('localStorage.clear()')
  })

  for (const [name, path] of Object.entries(pages)) {
    test(`the ${name} page fits a phone`, async () => {
      await page.setViewportSize({ width: 390, height: 844 })
      await open(path)
      await page.locator('.VPContent h1').first().waitFor()
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      await picture(page, `guide-${name}-narrow`, false)
      await page.setViewportSize({ width: 1440, height: 900 })
      assert.ok(width <= 390, `${width} pixels wide`)
    })

    test(`axe finds no faults on the ${name} page`, async () => {
      await open(path)
      await page.locator('.VPContent h1').first().waitFor()
      await assertAccessible(page)
      await picture(page, `guide-${name}`, false)
    })
  }

  test('gives each page as Markdown, and llms.txt names them', async () => {
    const html = globSync('**/*.html', { cwd: built }).filter((name) => name !== '404.html')
    assert.ok(html.length > 90, `${html.length} pages`)
    const list = await (await service.fetch('/docs/guide/llms.txt')).text()
    const paths = new Set([...list.matchAll(/\]\((\/docs\/guide\/[^)]+\.md)\)/g)].map(([, path]) => path!))
    for (const file of html) {
      const path = `/docs/guide/${file.replace(/html$/, 'md')}`
      const answer = await service.fetch(path)
      assert.equal(answer.status, 200, path)
      assert.equal(answer.headers.get('content-type'), 'text/markdown; charset=utf-8', path)
      await answer.arrayBuffer()
      paths.delete(path)
    }
    assert.deepEqual([...paths], [], 'named in llms.txt, and not there')
    assert.match(list, /senders\/stripe\.md/)
  })

  test('loads nothing from elsewhere and breaks no policy', () => {
    assert.deepEqual(elsewhere, [])
    assert.deepEqual(complaints, [])
  })
})
