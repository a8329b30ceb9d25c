import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { emit, expectJson, startEmitting, subscribe } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import type { TestService } from '../harness/service.ts'
import { launchBrowser, picture } from './browser.ts'

/** What an owner does with the link that they were given. */
describe('the portal in a browser', () => {
  let service: TestService
  let receiver: Receiver
  let browser: Browser
  let page: Page
  const complaints: string[] = []

  before(async () => {
    receiver = await startReceiver(500, 500, 204)
    service = await startEmitting(engines[0]!, {
      config: {
        emitting: {
          eventTypes: {
            'order.shipped': {
              description: 'An order left the warehouse.',
              schema: { type: 'object', required: ['order'], properties: { order: { type: 'integer' } } },
              samples: [{ order: 42 }],
            },
          },
        },
      },
    })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
  })
  after(async () => {
    await browser?.close()
    await Promise.all([service?.close(), receiver?.close()])
  })

  const makeLink = async (owner: string) =>
    (
      (await expectJson(service, 201, '/portal-links', { method: 'POST', json: { owner } })) as {
        url: string
      }
    ).url

  test('the link opens the pages once, and is gone from the address', async () => {
    await subscribe(service, { url: 'http://127.0.0.1:9/of-globex', owner: 'globex' })
    const link = await makeLink('acme')
    await page.goto(link)
    await page.getByText('Your endpoints').waitFor()
    assert.equal(page.url(), `${service.baseUrl}/portal`)
    await page.getByText('None yet').waitFor()
    assert.equal(await page.getByText('of-globex').count(), 0)
    const other = await browser.newContext()
    const elsewhere = await other.newPage()
    await elsewhere.goto(link)
    await elsewhere.getByText('ask for a new one').waitFor()
    await picture(elsewhere, 'portal-spent')
    await other.close()
  })

  test('an endpoint is added; its secret is shown this once', async () => {
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByLabel('Event types, all when empty').fill('order.*')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('shown this once').waitFor()
    assert.match(await page.locator('code.secret').innerText(), /^whsec_/)
    await picture(page, 'portal-secret')
    await page.reload()
    await page.getByRole('button', { name: 'Send a test event' }).waitFor()
    assert.equal(await page.locator('code.secret').count(), 0)
  })

  test('a dead delivery is seen with its attempts, and sent again', async () => {
    await emit(service, { type: 'order.shipped', data: { order: 42 }, audience: 'acme' })
    const drawer = page.locator('#drawer')
    await drawer.locator('.state', { hasText: 'dead' }).waitFor()
    await picture(page, 'portal-endpoint')
    await drawer.getByRole('link', { name: 'order.shipped' }).click()
    await drawer.getByText('Attempt 2').waitFor()
    await picture(page, 'portal-delivery')
    await drawer.getByRole('button', { name: 'Replay' }).click()
    await drawer.getByText('delivered', { exact: true }).first().waitFor()
    await page.goBack()
  })

  test('an endpoint is changed', async () => {
    const drawer = page.locator('#drawer')
    await drawer.getByText('Change', { exact: true }).click()
    await drawer.getByLabel('Description').fill('our shop')
    await drawer.getByRole('button', { name: 'Save' }).click()
    await drawer.locator('dd', { hasText: 'our shop' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.locator('summary', { hasText: 'order.shipped' }).click()
    await page.getByText('An order left the warehouse.').waitFor()
    await picture(page, 'portal')
    await page.setViewportSize({ width: 390, height: 800 })
    await picture(page, 'portal-narrow')
    await page.setViewportSize({ width: 1100, height: 900 })
  })

  test('a link of another owner asks before it takes the place of the session', async () => {
    const link = await makeLink('globex')
    const open = async (): Promise<void> => {
      // From the page itself only the hash would change, which loads nothing.
      await page.goto('about:blank')
      await page.goto(link)
    }
    await open()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('You are signed in as acme. The link opens the portal of globex.').waitFor()
    await picture(page, 'portal-other-owner')
    await dialog.getByRole('button', { name: 'Stay' }).click()
    await page.locator('#who', { hasText: 'acme' }).waitFor()
    await open()
    await dialog.getByRole('button', { name: 'Open it' }).click()
    await page.locator('#who', { hasText: 'globex' }).waitFor()
    await page.getByText('of-globex').waitFor()
  })

  test('who leaves needs another link', async () => {
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.getByText('ask for a new one').waitFor()
    assert.equal(await page.getByText('Your endpoints').isVisible(), false)
  })

  test('without a complaint of the browser but for refused calls', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of (401|409)/.test(text)),
      [],
    )
  })
})
