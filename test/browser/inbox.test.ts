// What an operator sees of webhooks that went wrong: failed events, and refused requests.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { engines } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { postWebhook, settled } from '../receiving/harness.ts'
import { answerDialog, launchBrowser, picture } from './browser.ts'

describe('the inbox on the dashboard', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  let broken = true
  const complaints: string[] = []

  before(async () => {
    service = await startTestService(engines[0]!, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0' },
      config: {
        receiving: {
          handlers: {
            'order.*': (event, { emit }) => {
              if (broken && event.id !== 'good')
                throw new Error(
                  event.type === 'order.paid'
                    ? 'the bookkeeping answered 503: the ledger of this year is locked by another user'
                    : 'no such order',
                )
              emit({ type: 'order.confirmed', data: { of: event.id } })
            },
          },
        },
      },
    })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))

    for (let n = 1; n <= 12; n += 1)
      await postWebhook(service, { id: `evt_${n}`, type: n % 3 === 0 ? 'order.sent' : 'order.paid' })
    await postWebhook(service, '{"id":"good","type":"order.paid","amount":12345678901234567890}')
    await postWebhook(service, { id: 'evt_1' }, { 'x-signature': null })
    for (let n = 1; n <= 14; n += 1)
      await postWebhook(service, { id: `evt_${n}`, token: 'hunter2' }, { 'x-signature': '00'.repeat(32) })
    await postWebhook(service, { name: 'without an id' })
    await settled(service.database)

    await page.goto(`${service.baseUrl}/login`)
    await page.getByRole('link', { name: /development provider/ }).click()
    await page.getByText('Ada Lovelace').first().click()
    await page.waitForURL('**/dashboard')
  })
  after(async () => {
    await browser?.close()
    await service?.close()
  })

  const failed = () => page.locator('#failed-section')
  const refused = () => page.locator('#refused-section')
  const drawer = () => page.locator('#drawer')
  const texts = async (selector: string): Promise<string[]> => page.locator(selector).allInnerTexts()

  test('failed events are listed with their errors, and filtered', async () => {
    await failed().getByRole('button', { name: 'Run all 12 now' }).waitFor()
    assert.equal(await page.locator('#failed tr').count(), 10)
    await failed().getByRole('button', { name: 'Older' }).last().click()
    await page.locator('#failed tr').nth(11).waitFor()
    await failed().getByText('Filter', { exact: true }).click()
    await failed().getByLabel('Error contains').fill('no such')
    await picture(page, 'failed')
    await failed().getByRole('button', { name: 'Show' }).click()
    await failed().getByRole('button', { name: 'Run all 4 now' }).waitFor()
    const rows = await texts('#failed tr')
    assert.equal(rows.length, 4)
    for (const row of rows) assert.match(row, /order\.sent.*from provider.*Error: no such order/s)
  })

  test('an event shows its bytes, its headers without secrets, how it was verified, every failure with its stack', async () => {
    await page.locator('#failed a').first().click()
    await drawer().getByText('Attempt 2').waitFor()
    await drawer().getByText('by hmac with secret 1').waitFor()
    await drawer().getByText('Headers').click()
    const shown = await drawer().innerText()
    assert.match(shown, /Error: no such order\n\s+at /)
    assert.match(shown, /content-type: application\/json/)
    assert.doesNotMatch(shown, /x-signature/)
    await drawer().getByText('Raw body').click()
    await drawer().getByText('{"id":"evt_12","type":"order.sent"}').waitFor()
    await picture(page, 'event-failed', false)
    await drawer().getByRole('button', { name: 'Close' }).click()
    await page.locator('#events tr', { hasText: 'good' }).locator('a').click()
    await drawer().getByText('Emitted').waitFor()
    await drawer().getByRole('link', { name: 'order.confirmed' }).waitFor()
    await drawer().getByText('"amount": 12345678901234567890').waitFor()
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  test('those of the filter are processed again, then all of them', async () => {
    broken = false
    await failed().getByRole('button', { name: 'Run all 4 now' }).click()
    await page.getByText('Run 4 events that failed and fit the filter now?').waitFor()
    await answerDialog(page, 'Run now')
    await failed().getByText('4 of 4 were made due.').waitFor()
    await failed().getByText('No event fits the filter.').nth(1).waitFor()
    await failed().getByLabel('Error contains').fill('')
    await failed().getByRole('button', { name: 'Show' }).click()
    await failed().getByRole('button', { name: 'Run all 8 now' }).click()
    await answerDialog(page, 'Run now')
    await failed().getByText('8 of 8 were made due.').waitFor()
    await settled(service.database)
    await failed().getByRole('button', { name: 'Refresh' }).click()
    await failed().getByText('None.', { exact: true }).nth(1).waitFor()
    const { count } = await service.database.reader
      .selectFrom('event_queue')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('status', '=', 'processed')
      .executeTakeFirstOrThrow()
    assert.equal(count, 13)
  })

  test('a job is shown while it runs, also to a page that is loaded again, and is cancelled', async () => {
    let status = 'running'
    const job = () => ({ id: 'job', kind: 'reprocess', status, total: 2000, done: 500 })
    await page.route('**/jobs/*', (route) => {
      if (route.request().method() === 'DELETE') status = 'cancelled'
      return route.fulfill({ json: job() })
    })
    await page.evaluate(`sessionStorage.setItem('postern-reprocessing', 'job')`)
    await page.reload()
    await failed().getByText('500 of 2000 are due now').waitFor()
    await picture(page, 'failed-job')
    await failed().getByRole('button', { name: 'Cancel' }).click()
    await answerDialog(page, 'Cancel the job')
    await failed().getByText('Cancelled: 500 of 2000 were made due.').waitFor()
    await page.unroute('**/jobs/*')
  })

  test('refused webhooks are counted by reason, and the last ones shown without their secrets', async () => {
    await refused().getByText('16 since').waitFor()
    const counts = await texts('#refused-counts tr')
    assert.deepEqual(
      counts.map((text) => /^(\S+)\t.*\t(\d+)\t/s.exec(text)?.slice(1).join(' ')),
      ['signature-wrong 14', 'malformed 1', 'signature-missing 1'],
    )
    await refused().getByText('The last ones').click()
    await picture(page, 'refused')
    await refused().getByRole('link', { name: 'signature-wrong' }).first().click()
    await drawer().getByText('Body', { exact: true }).waitFor()
    await drawer().getByText('Headers').click()
    await drawer().getByText('x-signature: [removed: 64 characters]').waitFor()
    assert.doesNotMatch(await drawer().innerText(), /hunter2/)
    await picture(page, 'refused-one', false)
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  test('on a telephone and in the dark', async () => {
    broken = true
    await postWebhook(service, { id: 'evt_late', type: 'order.paid' })
    await settled(service.database)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width: 400, height: 800 })
      await page.reload()
      await failed().getByRole('button', { name: 'Run now' }).first().waitFor()
      await failed().getByText('Filter', { exact: true }).click()
      await refused().getByText('The last ones').click()
      await picture(page, `inbox-${colorScheme}-narrow`)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.equal(overflow, 0, 'the page does not scroll sideways')
      await page.locator('#refused a').first().click()
      await drawer().getByText('Body', { exact: true }).waitFor()
      await picture(page, `refused-one-${colorScheme}-narrow`, false)
      await drawer().getByRole('button', { name: 'Close' }).click()
      await page.setViewportSize({ width: 1100, height: 800 })
      await picture(page, `inbox-${colorScheme}`)
    }
    assert.deepEqual(complaints, [])
  })
})
