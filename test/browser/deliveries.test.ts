import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { deliveries, emit, expectJson, startEmitting, subscribe, until } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import type { TestService } from '../harness/service.ts'
import { answerDialog, launchBrowser, picture } from './browser.ts'

/** What is seen of deliveries that fail, and what can be done about them. */
describe('deliveries in a browser', () => {
  let service: TestService
  let receiver: Receiver
  let browser: Browser
  let page: Page
  let id: string
  const complaints: string[] = []

  before(async () => {
    receiver = await startReceiver(204)
    service = await startEmitting(engines[0]!, { env: { EMIT_RETRY_SCHEDULE: '0' } })
    ;({ id } = await subscribe(service, { url: receiver.url, owner: 'acme' }))
    const send = async (count: number, status: string): Promise<void> => {
      for (let n = 0; n < count; n += 1)
        await emit(service, { type: 'order.shipped', data: { order: n }, audience: 'acme' })
      await until(
        async () => (await deliveries(service, id, `?status=${status}&limit=100`)).length === count,
        `${count} are ${status}`,
      )
    }
    await send(12, 'delivered')
    receiver.answer(503)
    await send(5, 'dead')
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    const { url } = (await expectJson(service, 201, '/portal-links', {
      method: 'POST',
      json: { owner: 'acme' },
    })) as { url: string }
    await page.goto(url)
    await page.getByRole('link', { name: receiver.url }).waitFor()
  })
  after(async () => {
    await browser?.close()
    await Promise.all([service?.close(), receiver?.close()])
  })

  test('an endpoint that fails says so, in the list and by itself, with the chart of the last days', async () => {
    await page.locator('.state', { hasText: 'failing' }).waitFor()
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByText('Deliveries fail since').waitFor()
    await page.getByText('it is disabled by a failure from').waitFor()
    const chart = page.getByRole('img', { name: /% of 17 attempts in seven days succeeded/ })
    await chart.waitFor()
    assert.equal(await chart.locator('g').count(), 28)
    await picture(page, 'endpoint-failing')
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture(page, 'endpoint-failing-dark')
    await page.setViewportSize({ width: 390, height: 800 })
    await picture(page, 'endpoint-failing-narrow')
    await page.setViewportSize({ width: 1100, height: 900 })
    await page.emulateMedia({ colorScheme: 'light' })
  })

  test('an attempt shows its phases, what went wrong and what to do', async () => {
    const drawer = page.locator('#drawer')
    await drawer.getByRole('link', { name: 'order.shipped' }).first().click()
    // The list of deliveries, which has the same words, is there until then.
    await drawer.locator('.attempt').first().waitFor()
    await drawer.getByText('answered 503', { exact: true }).waitFor()
    await drawer.locator('.advice').waitFor()
    assert.match(await drawer.locator('.attempt').first().innerText(), /first byte [\d.]+ ms/)
    assert.ok((await drawer.locator('.phase').count()) > 0)
    await picture(page, 'delivery-phases')
    await page.emulateMedia({ colorScheme: 'dark' })
    await picture(page, 'delivery-phases-dark')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goBack()
  })

  test('many are counted, sent again at a rate, and stopped', async () => {
    const drawer = page.locator('#drawer')
    await drawer.getByText('Replay many').click()
    await drawer.getByLabel('Per second, at most').fill('0.01')
    await drawer.getByRole('button', { name: 'Count' }).click()
    await picture(page, 'replay-counted')
    await drawer.getByRole('button', { name: 'Send 5 again' }).click()
    await drawer.getByText('1 of 5 sent again, 0.01 a second at most').waitFor()
    await picture(page, 'replay-running')
    await drawer.getByRole('button', { name: 'Cancel' }).click()
    await answerDialog(page, 'Cancel the replay')
    await drawer.getByText('Replay cancelled: 1 of 5 sent again').waitFor()
  })

  test('who is disabled sees why, and resumes', async () => {
    const drawer = page.locator('#drawer')
    receiver.answer(410)
    await drawer.getByRole('button', { name: 'Send a test event' }).click()
    await drawer.getByText('Disabled, nothing is sent: The subscriber answered 410 Gone.').waitFor()
    await picture(page, 'endpoint-disabled')
    receiver.answer(204)
    await drawer.getByRole('button', { name: 'Resume' }).click()
    await drawer.locator('h2 .state', { hasText: 'active' }).waitFor()
    assert.equal(await drawer.getByText('nothing is sent').count(), 0)
  })

  test('the browser reports no errors', () => {
    assert.deepEqual(complaints, [])
  })
})
