import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { subscribe, until } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { postWebhook } from '../receiving/harness.ts'
import { launchBrowser, signIn } from './browser.ts'

interface BrowserGlobals {
  getSelection: () => { selectAllChildren(element: unknown): void }
}

/** What a person does on the page goes on while the page refreshes itself. */
describe('a page that refreshes itself', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  let receiver: Receiver
  let release = (): void => undefined
  const complaints: string[] = []

  before(async () => {
    receiver = await startReceiver(503)
    const released = new Promise<void>((resolve) => (release = resolve))
    service = await startTestService(engines[0]!, {
      env: { ALLOW_PRIVATE_NETWORK: 'true', EMIT_RETRY_SCHEDULE: '0' },
      config: {
        receiving: {
          handlers: {
            'order.held': async () => released,
            'order.broken': () => {
              throw new Error('no such order')
            },
          },
        },
      },
    })
    await postWebhook(service, { id: 'evt_held', type: 'order.held' })
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1100, height: 800 } })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await signIn(page, service, 'Ada Lovelace')
  })
  after(async () => {
    release()
    await browser?.close()
    await Promise.all([service?.close(), receiver?.close()])
  })

  const drawer = () => page.locator('#drawer')
  const focused = () => page.evaluate<string>('document.activeElement.outerHTML')
  const selected = () => page.evaluate<string>('getSelection().toString()')
  const select = (place: Locator) =>
    place.evaluate((element) => {
      // The types of the tests have no browser's globals.
      const { getSelection } = globalThis as unknown as BrowserGlobals
      getSelection().selectAllChildren(element)
    })
  const polled = () =>
    page.waitForResponse((response) => new URL(response.url()).pathname === '/events' && response.ok())

  test('a selection and the keyboard focus survive polls, new events and a change of the same row', async () => {
    const held = page.locator('#events tr', { hasText: 'evt_held' })
    await held.getByText('pending').waitFor()
    await held.locator('code').dblclick()
    await held.getByRole('link').focus()
    assert.equal(await selected(), 'evt_held')
    const before = await focused()
    assert.match(before, /order\.held/)
    await polled()
    await polled()
    assert.equal(await focused(), before, 'after a poll that brought nothing')
    await postWebhook(service, { id: 'evt_next', type: 'order.next' })
    await page.locator('#events').getByText('evt_next').waitFor()
    assert.equal(await focused(), before, 'after a new row')
    assert.equal(await selected(), 'evt_held')
    release()
    await held.getByText('processed').waitFor()
    assert.equal(await focused(), before, 'after a change of the row')
    assert.equal(await selected(), 'evt_held')
    await page.keyboard.press('Enter')
    await drawer().getByText('Payload').waitFor()
    await page.keyboard.press('Escape')
    await drawer().waitFor({ state: 'hidden' })
    assert.equal(await focused(), before, 'and it opens by keyboard, and the focus returns')
  })

  test('the rows that did not change are the same elements', async () => {
    await page.evaluate(`for (const row of document.querySelectorAll('#events tr')) row.marked = true`)
    await postWebhook(service, { id: 'evt_newest', type: 'order.next' })
    await page.locator('#events').getByText('evt_newest').waitFor()
    assert.deepEqual(
      await page.evaluate(`[...document.querySelectorAll('#events tr')].map((row) => row.marked ?? false)`),
      [false, true, true],
    )
  })

  test('folds of a delivery stay open, with focus and selection, when an attempt arrives', async () => {
    const { id } = await subscribe(service, { url: receiver.url })
    await service.admin(`/subscribers/${id}/test`, { method: 'POST' })
    await page.reload()
    await page.locator('#subscribers').getByRole('link').click()
    await drawer().getByRole('link', { name: 'postern.test' }).click()
    await drawer().getByText('Attempt 1').waitFor()
    const first = drawer().locator('.attempt', { hasText: 'Attempt 1' })
    const fold = first.locator('details', { hasText: 'Headers of the request' })
    await fold.locator('summary').click()
    await select(fold.locator('pre'))
    const text = await selected()
    assert.match(text, /webhook-id: /)
    await fold.locator('summary').focus()
    const [delivery] = page.url().match(/\d+$/)!
    await service.admin(`/deliveries/${delivery}/replay`, { method: 'POST' })
    await drawer().getByText('Attempt 2').waitFor()
    assert.equal(await fold.getAttribute('open'), '')
    assert.match(await focused(), /Headers of the request/)
    assert.equal(await selected(), text)
    const second = drawer().locator('.attempt', { hasText: 'Attempt 2' }).locator('details[open]')
    assert.equal(await second.count(), 0, 'a new attempt comes closed')
    await page.goBack()
  })

  test('a button that is pressed by keyboard keeps the focus', async () => {
    const again = drawer().getByRole('button', { name: 'Send a test event' })
    await again.focus()
    await page.keyboard.press('Enter')
    await drawer().locator('tbody tr').nth(1).waitFor()
    assert.match(await focused(), /Send a test event/)
  })

  test('what is being typed stays when deliveries arrive, and follows what is stored once saved', async () => {
    await drawer().getByText('Change', { exact: true }).click()
    const types = drawer().getByLabel('Event types', { exact: true })
    await types.fill('order.*   postern.*')
    const rows = drawer().locator('tbody tr')
    const before = await rows.count()
    await service.admin(`/subscribers/${page.url().split('/').at(-1)}/test`, { method: 'POST' })
    await rows.nth(before).waitFor()
    assert.equal(await types.inputValue(), 'order.*   postern.*')
    assert.match(await focused(), /eventTypes/)
    await page.keyboard.press('Enter')
    await drawer().locator('dd', { hasText: 'order.*, postern.*' }).waitFor()
    await until(async () => (await types.inputValue()) === 'order.*, postern.*', 'the field follows')
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  test('folds of an event stay open while its status changes', async () => {
    await postWebhook(service, { id: 'evt_broken', type: 'order.broken' })
    await page.locator('#events').getByRole('link', { name: 'order.broken' }).click()
    await drawer().getByText('Attempt 1').waitFor()
    const fold = drawer().locator('details', { hasText: 'Headers' })
    await fold.locator('summary').click()
    await select(drawer().locator('.attempt pre').first())
    const text = await selected()
    assert.match(text, /no such order/)
    await service.admin(`/events/${page.url().split('/').at(-1)}/reprocess`, { method: 'POST' })
    await drawer().getByText('Attempt 2').waitFor()
    assert.equal(await fold.getAttribute('open'), '')
    assert.equal(await selected(), text)
    await drawer().getByRole('button', { name: 'Close' }).click()
  })

  test('an event that does not exist is told with its number', async () => {
    await page.waitForURL('**/dashboard')
    await page.evaluate(`location.hash = '#events/999'`)
    await drawer().getByRole('heading', { name: 'Event 999' }).waitFor()
    await drawer().locator('.message').waitFor()
    await drawer().getByRole('button', { name: 'Close' }).click()
    await page.waitForURL('**/dashboard')
    // A browser tells of every 404 that a page's own call gets: these are meant, and there are no others.
    for (const complaint of complaints.splice(0)) assert.match(complaint, /status of 404/)
  })

  test('the keyboard begins with a link past the navigation', async () => {
    await page.reload()
    await page.locator('#events tr').first().waitFor()
    await page.keyboard.press('Tab')
    assert.match(await focused(), /Skip to content/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(`document.activeElement.closest('main') !== null`), true)
  })

  test('the browser reports no errors', () => assert.deepEqual(complaints, []))
})
