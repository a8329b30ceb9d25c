// The jobs of the dashboard from Home, with the clicks that each may take. Typing, Tab and Enter are not clicks.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { started, startReceiver } from '../harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { PeopleSite } from './people.ts'

describe('the jobs of the dashboard', () => {
  let isMended = false
  /** Presses of the mouse in the page, as the browser counts them. */
  let clicks = 0

  const receiver = started(() => startReceiver(503))
  const site = new PeopleSite({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600', EMIT_RETRY_SCHEDULE: '0' },
    config: {
      receiving: {
        handlers: {
          'order.*': ({ id }) => {
            if (!isMended) throw new RangeError(`order ${id} has no customer`)
          },
        },
      },
    },
  })
  const page = (): Page => site.page
  before(async () => {
    await site.elsewhere('Grace Hopper')
    const json = { name: 'Acme Corporation' }
    assert.equal((await site.service.admin('/owners/acme', { method: 'PUT', json })).status, 200)
    await postWebhook(site.service, { id: 'first', type: 'order.paid', data: { customer: 'cus_1' } })
    await postWebhook(site.service, { id: 'other', type: 'order.paid', data: { customer: 'cus_2' } })
    await site.signIn(page(), 'Ada Lovelace')
    await page().exposeFunction('countClick', () => (clicks += 1))
    await page().addInitScript('addEventListener("pointerdown", () => countClick(), true)')
  })

  const main = (): Locator => page().getByRole('main')
  const button = (name: string): Locator => page().getByRole('button', { name, exact: true })
  const toast = (): Locator => page().locator('[data-toasts]')
  const go = (name: string): Promise<void> =>
    page().getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
  const type = async (...texts: string[]): Promise<void> => {
    for (const [at, text] of texts.entries()) {
      if (at > 0) await page().keyboard.press('Tab')
      await page().keyboard.type(text)
    }
  }
  /** Does a job from Home. */
  const job = (name: string, most: number, work: () => Promise<void>): void =>
    void test(`${name}: ${most} clicks`, async () => {
      await site.open('')
      clicks = 0
      await work()
      assert.equal(clicks, most)
    })

  job('see why a handler fails and run it again', 3, async () => {
    await go('Events')
    await page().getByRole('row', { name: /first/ }).getByRole('link', { name: 'order.paid' }).click()
    await main().getByText('RangeError: order first has no customer').first().waitFor()
    isMended = true
    await button('Run now').click()
    await page().locator('h1').getByText('processed').waitFor()
  })

  job('add an endpoint, send an event, see the failing attempt, resend', 7, async () => {
    await go('Endpoints')
    await main().getByRole('link', { name: 'Add endpoint', exact: true }).first().click()
    await page().getByLabel('URL').and(page().locator(':focus')).waitFor()
    await type(`${receiver.url}/seven`)
    await button('Add').click()
    await button('Send event').click()
    await page().getByRole('dialog').locator('input:focus').waitFor()
    await type('invoice.paid')
    await button('Send').click()
    await page()
      .getByRole('row', { name: /invoice\.paid.*seven/ })
      .getByRole('link')
      .first()
      .click()
    await page().getByRole('region', { name: 'Response', exact: true }).getByText('503').waitFor()
    await button('Resend').click()
    await page()
      .getByRole('button', { name: /Attempt 2/ })
      .waitFor()
  })

  job('create an API key', 4, async () => {
    await go('API keys')
    await button('Create API key').first().click()
    await page().getByLabel('Name').and(page().locator(':focus')).waitFor()
    await type('shop back end')
    await page().getByRole('checkbox', { name: 'events:write' }).click()
    await button('Create').click()
    assert.match(await page().getByLabel('The key', { exact: true }).innerText(), /^pk_/)
  })

  job('block a user and end their sessions', 4, async () => {
    await go('Users')
    await page()
      .getByRole('link', { name: /Grace Hopper/ })
      .click()
    await button('Block').click()
    await page()
      .getByRole('alertdialog')
      .getByText(/This user's session ends at once/)
      .waitFor()
    await page().getByRole('alertdialog').getByRole('button', { name: 'Block' }).click()
    await page().locator('h1').getByText('blocked').waitFor()
    await main().getByText('No device is signed in').waitFor()
  })

  job('find an event by a field of its body', 3, async () => {
    await go('Events')
    await button('More filters').click()
    await page().getByLabel('Body field').click()
    await type('data.customer', 'cus_2')
    const found = page().getByRole('table', { name: 'Events found' })
    await found.getByText('cus_2').waitFor()
    await found.getByRole('link', { name: 'order.paid' }).nth(1).waitFor({ state: 'detached' })
  })

  job('pause a handler', 2, async () => {
    await go('Handlers')
    await button('Pause order.*').click()
    await toast().getByText('order.* is paused').waitFor()
    await button('Resume order.*').waitFor()
  })

  test('the toast of a pause resumes the handler', async () => {
    await toast().getByRole('button', { name: 'Resume', exact: true }).click()
    await button('Pause order.*').waitFor()
    await toast().getByText('order.* is paused').waitFor({ state: 'detached' })
  })

  job('create a portal link for a customer', 3, async () => {
    await go('Customers')
    await page().getByRole('link', { name: 'Acme Corporation' }).click()
    await button('Create link').click()
    await main().getByText(`${site.service.baseUrl}/portal`).waitFor()
  })

  job('find the retry schedule', 2, async () => {
    await go('System')
    await page().getByRole('link', { name: 'Retention and retries' }).click()
    const schedules = main().locator('section', { hasText: 'Retry schedules' })
    await schedules.getByText('Set by EMIT_RETRY_SCHEDULE').waitFor()
  })

  job('find the retention', 2, async () => {
    await go('System')
    await page().getByRole('link', { name: 'Retention and retries' }).click()
    const table = page().getByRole('table', { name: 'Retention', exact: true })
    await table.getByRole('row', { name: /^Events, payloads and deliveries 30 days/ }).waitFor()
  })

  test('the events wait for nothing, and the browser reports no errors', async () => {
    await eventually(async () => {
      const { paused } = (await (await site.service.admin('/handlers/order.*')).json()) as { paused: unknown }
      return paused === null
    })
    assert.deepEqual(site.complaints, [])
  })
})
