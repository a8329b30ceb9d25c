import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, picture, signIn } from './browser.ts'

describe('the API reference', () => {
  const complaints: string[] = []
  const elsewhere: string[] = []

  const service = started(() => startTestService(engines[0]!))
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, { width: 1440, height: 900 }, complaints))
  before(async () => {
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (/^https?:$/.test(protocol) && origin !== service.baseUrl) elsewhere.push(request.url())
    })
  })

  test('is read without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const plain = await context.newPage()
    await plain.goto(`${service.baseUrl}/docs`)
    const call = plain.locator('#get-subscribers-id')
    await call.getByRole('heading', { name: 'One subscriber' }).waitFor()
    assert.equal(await call.locator('.tag').first().textContent(), 'scope subscribers:read')
    await call.locator('summary').click()
    await call.getByRole('cell', { name: 'Since when deliveries fail; null while they succeed' }).waitFor()
    assert.equal(await plain.getByRole('button').count(), 0)
    await context.close()
  })

  test('a filter leaves the calls that have its words', async () => {
    await signIn(page, service, 'Ada Lovelace')
    await page.goto(`${service.baseUrl}/docs`)
    await page.getByLabel('Filter').fill('post /events')
    await page.getByText(/^\d+ calls?$/).waitFor()
    assert.ok(await page.locator('#post-events').isVisible())
    assert.ok(await page.locator('#get-events').isHidden())
    await page.getByLabel('Filter').fill('')
    assert.ok(await page.locator('#get-events').isVisible())
  })

  test('a link of the navigation leads to its call, which is tried with the session', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'GET /users', exact: true }).click()
    await page.waitForURL('**/docs#get-users')
    const call = page.locator('#get-users')
    await call.getByRole('button', { name: 'Try it with your session' }).click()
    await call.getByLabel('limit').fill('1')
    await call.getByRole('button', { name: 'Send' }).click()
    await call.getByText('"Ada Lovelace"').waitFor()
  })

  test('has no faults that axe finds, at both widths and in both themes', async () => {
    await assertAccessible(page)
    await picture(page, 'docs', false)
    await page.setViewportSize({ width: 390, height: 844 })
    // Of a few calls: axe takes a quarter of a minute for all.
    await page.getByLabel('Filter').fill('subscribers')
    await assertAccessible(page)
    await page.getByLabel('Filter').fill('')
    await picture(page, 'docs-narrow', false)
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(width <= 390, `${width} pixels wide`)
  })

  test('loads nothing from elsewhere and breaks no policy', () => {
    assert.deepEqual(elsewhere, [])
    assert.deepEqual(complaints, [])
  })
})
