import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { deliveries, emit, subscribe, until } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { postWebhook } from '../receiving/harness.ts'
import { answerDialog, launchBrowser, picture, signIn } from './browser.ts'

/** Somebody has mended a handler, or a receiver, and does not want to wait for the next attempt. */
describe('run now in a browser', () => {
  let service: TestService
  let receiver: Receiver
  let browser: Browser
  let page: Page
  let broken = true
  const complaints: string[] = []

  before(async () => {
    receiver = await startReceiver(503)
    service = await startTestService(engines[0]!, {
      env: {
        ALLOW_PRIVATE_NETWORK: 'true',
        HANDLER_RETRY_SCHEDULE: '0,3600,3600',
        EMIT_RETRY_SCHEDULE: '0,3600,3600',
      },
      config: {
        receiving: {
          handlers: {
            'order.*': (event, { emit }) => {
              if (broken)
                throw new Error(event.type === 'order.paid' ? 'the ledger is locked' : 'no such order')
              emit({ type: 'invoice.made', data: { of: event.id } })
            },
          },
        },
      },
    })
    for (const [id, type] of [
      ['evt_1', 'order.paid'],
      ['evt_2', 'order.paid'],
      ['evt_3', 'order.paid'],
      ['evt_4', 'order.sent'],
      ['evt_5', 'order.sent'],
      ['evt_6', 'payment.made'],
    ])
      await postWebhook(service, { id, type })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await signIn(page, service, 'Ada Lovelace')
  })
  after(async () => {
    await browser?.close()
    await Promise.all([service?.close(), receiver?.close()])
  })

  const drawer = () => page.locator('#drawer')
  const section = () => page.locator('#failed-section')
  const rows = () => page.locator('#retrying tr')
  const counted = (list: string, count: number) =>
    until(async () => (await page.locator(`#${list} tr`).count()) === count, `${count} rows of ${list}`)
  const retried = (count: number) => counted('retrying', count)
  const pressed = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).focus()
    await page.keyboard.press('Enter')
  }

  test('events are found by their status', async () => {
    const events = page.locator('#events tr')
    const status = page.getByLabel('Status')
    await events.getByText('retrying').nth(4).waitFor()
    await status.selectOption('retrying')
    await counted('events', 5)
    await picture(page, 'events-retrying', false)
    await status.selectOption('processed')
    await counted('events', 1)
    assert.match(await events.innerText(), /payment\.made/)
    await status.selectOption('failed')
    await page.getByText('No event has this status.').waitFor()
    await status.selectOption('all')
    await events.nth(5).waitFor()
  })

  test('events that are retried are shown with their error and the time of the next attempt', async () => {
    await section().getByRole('button', { name: 'Refresh' }).click()
    await retried(5)
    const text = await rows().first().innerText()
    assert.match(text, /order\.sent/)
    assert.match(text, /Error: no such order\s+1 attempt, next \d/)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await picture(page, `retrying-${colorScheme}`)
      await page.setViewportSize({ width: 390, height: 800 })
      await picture(page, `retrying-${colorScheme}-narrow`)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.equal(overflow, 0, 'the page does not scroll sideways')
      await page.setViewportSize({ width: 1100, height: 800 })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  test('a dry run tells what would happen, after a question, and keeps nothing', async () => {
    await rows().getByRole('link', { name: 'order.sent' }).first().click()
    await pressed('Dry run')
    await page.getByRole('heading', { name: 'Dry run the handlers of order.sent?' }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await drawer().getByText('Dry run: ').count(), 0)
    await drawer().getByRole('button', { name: 'Dry run' }).click()
    await answerDialog(page, 'Dry run')
    await drawer().getByText('Dry run: the event would fail').waitFor()
    broken = false
    await drawer().getByRole('button', { name: 'Dry run' }).click()
    await answerDialog(page, 'Dry run')
    await drawer().getByText('Dry run: the event would be processed').waitFor()
    await drawer().locator('.message summary', { hasText: 'invoice.made' }).click()
    await drawer().getByText('"of": "evt_5"').waitFor()
    await picture(page, 'dry-run', false)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 390, height: 800 })
    await picture(page, 'dry-run-dark-narrow', false)
    await page.setViewportSize({ width: 1100, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
    await drawer().locator('h2 .state', { hasText: 'retrying' }).waitFor()
  })

  test('Run now in the drawer, by keyboard', async () => {
    await pressed('Run now')
    await drawer().locator('h2 .state', { hasText: 'processed' }).waitFor()
    assert.equal(await drawer().getByRole('button', { name: 'Run now' }).count(), 0)
    assert.notEqual(await page.evaluate('document.activeElement.nodeName'), 'BODY')
    await drawer().getByRole('heading', { name: 'Emitted' }).waitFor()
    await page.keyboard.press('Escape')
    await retried(4)
  })

  test('Run now in the list, by keyboard: the row goes, and the focus to the next one', async () => {
    await pressed('Run now: order.sent evt_4')
    await section().getByText('order.sent evt_4 is due now.').waitFor()
    await retried(3)
    assert.equal(
      await page.evaluate(`document.activeElement.closest('tbody')?.id`),
      'retrying',
      'the focus stays in the list',
    )
  })

  test('one that fails again says so, and stays', async () => {
    broken = true
    await section().getByRole('button', { name: 'Run now: order.paid evt_3' }).click()
    await rows().first().getByText('2 attempts, next').waitFor()
  })

  test('all of one handler and error, by one button, after a question', async () => {
    broken = false
    const alike = section().getByRole('button', { name: 'Run all like this' }).first()
    await alike.click()
    const question = page.getByRole('heading', {
      name: 'Run 3 events of order.paid that failed with “Error: the ledger is locked” now?',
    })
    await question.waitFor()
    await page.keyboard.press('Enter')
    await question.waitFor({ state: 'detached' })
    assert.equal(await rows().count(), 3, 'Cancel does nothing')
    await alike.click()
    await answerDialog(page, 'Run now')
    await section().getByText('3 of 3 were made due.').waitFor()
    await retried(0)
    await page.locator('#retrying-empty').waitFor()
  })

  test('a delivery that waits for its next attempt is sent now', async () => {
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'order.shipped', data: {} })
    await until(async () => {
      const [first] = await deliveries(service, id)
      return first?.attemptCount === 1
    }, 'the first attempt')
    receiver.answer(204)
    await page.reload()
    await page.locator('#events').getByRole('link', { name: 'order.shipped' }).click()
    await drawer().locator('tbody').getByRole('link').click()
    await drawer().getByText('Attempt 1').waitFor()
    await picture(page, 'delivery-waiting', false)
    await pressed('Send now')
    await drawer().getByText('Attempt 2').waitFor()
    await drawer().locator('h2 .state', { hasText: 'delivered' }).waitFor()
    assert.match(await page.evaluate<string>('document.activeElement.textContent'), /Replay/)
  })

  test('the browser reports no errors', () => assert.deepEqual(complaints, []))
})
