// What the service refuses of a form stands beside its field, and the person can go on typing there.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { startEmitting, subscribe } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, started, startReceiver } from '../harness/index.ts'
import { assertAccessible } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage, signIn } from './browser.ts'

const eventTypes = {
  'order.paid': {
    description: 'An order was paid.',
    schema: { type: 'object', required: ['orderId'], properties: { orderId: { type: 'string' } } },
    samples: [{ orderId: 'A-1001' }],
  },
}

describe('errors of forms in a browser', () => {
  let id: string
  const complaints: string[] = []
  const receiver = started(() => startReceiver(204))
  const service = started(() =>
    startEmitting(engines[0]!, {
      env: { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'gate@example.com' },
      config: { emitting: { eventTypes } },
    }),
  )
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    ;({ id } = await subscribe(service, { url: receiver.url }))
    await signIn(page, service, 'Ada Lovelace')
  })
  const open = (path: string) => page.goto(`${service.baseUrl}/dashboard${path}`)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

  /** The field is marked as wrong, has the focus, and its error is beside it and nowhere else. */
  async function assertWrong(field: Locator, error: RegExp, on: Page = page): Promise<void> {
    await on.getByRole('alert').filter({ hasText: error }).first().waitFor()
    assert.equal(await on.getByText(error).count(), 1)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    const described = (await field.getAttribute('aria-describedby')) ?? ''
    const ids = described.split(' ').map((one) => `[id="${one}"]`)
    assert.match((await on.locator(ids.join(', ')).allInnerTexts()).join('\n'), error)
    assert.ok(await field.evaluate((element) => element.matches(':focus')), 'it has the focus')
    assert.equal(await on.getByText(/ · request /).count(), 0, 'there is no notice')
    await assertAccessible(on)
  }

  test('the address of a new subscriber', async () => {
    await open('/subscribers/new')
    await page.getByLabel('URL').fill('ftp://example.com/hooks')
    await press('Add')
    await assertWrong(page.getByLabel('URL'), /https?/)
  })

  test('the settings of a subscriber: what the form cannot read, and what the service refuses', async () => {
    await open(`/subscribers/${id}?tab=settings`)
    await page.getByLabel('Additional headers').fill('no header')
    await press('Save')
    await assertWrong(page.getByLabel('Additional headers'), /must have the form Name: value/)
    await page.getByLabel('Additional headers').fill('Host: example.com')
    await press('Save')
    await assertWrong(page.getByLabel('Additional headers'), /cannot be set/)
  })

  test('the own secret of a subscriber', async () => {
    await open(`/subscribers/${id}?tab=secrets`)
    await page.getByLabel('Your own secret').fill('short')
    await press('Rotate secret')
    await answerDialog(page, 'Rotate secret')
    await assertWrong(page.getByLabel('Your own secret'), /secret (?:has|must|takes|is)/i)
  })

  test('the redirect URI of an app', async () => {
    await open('/apps')
    await page.getByRole('button', { name: 'Add app' }).first().click()
    await page.getByLabel('Name').fill('Shop')
    await page.getByLabel('Redirect URIs').fill('https://*.example.com/callback')
    await press('Add')
    await assertWrong(page.getByLabel('Redirect URIs'), /must name one host/)
    await page.setViewportSize({ width: 390, height: 844 })
    await assertWrong(page.getByLabel('Redirect URIs'), /must name one host/)
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('the address of an alert', async () => {
    await open('/alerts')
    await press('Add destination')
    await page.getByRole('menuitem', { name: 'Email' }).click()
    await page.getByRole('heading', { name: 'Add email destination' }).waitFor()
    await page.getByLabel('Name').fill('People on call')
    await page.getByLabel('Email addresses').fill('nobody')
    await press('Add')
    await assertWrong(page.getByLabel('Email addresses'), /\/to/)
  })

  test('the data of an event', async () => {
    await open('/event-types/order.paid')
    await press('Send event')
    const payload = page.getByLabel('Payload (JSON)')
    await payload.fill('{}')
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click()
    await assertWrong(payload, /must have/)
  })

  test('the type of a sample', async () => {
    await open('/sources/provider?tab=sample')
    await page.getByLabel('Event type').fill('x'.repeat(1_000))
    await press('Send sample')
    await assertWrong(page.getByLabel('Event type'), /\/type/)
  })

  test('an error of no field of the form is a notice', async () => {
    await open('/subscribers/new')
    await page.getByLabel('URL').fill(receiver.url)
    const problem = {
      code: 'conflict',
      title: 'Conflict',
      status: 409,
      detail: 'Not now.',
      source: { pointer: '/other' },
    }
    await page.route('**/subscribers', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 409,
            contentType: 'application/problem+json',
            body: JSON.stringify(problem),
          })
        : route.continue(),
    )
    await press('Add')
    await page.getByRole('alert').filter({ hasText: 'Not now.' }).waitFor()
    assert.equal(await page.getByText('Not now.').count(), 1)
    assert.equal(await page.locator('[aria-invalid]').count(), 0)
    await page.unrouteAll()
  })

  test('a customer in the portal: a closed part of the form is opened', async () => {
    const portal = await openPage(browser, complaints, { viewport: { width: 390, height: 844 } })
    await portal.goto(await makeLink(service, 'acme'))
    await portal.getByRole('button', { name: 'Add endpoint' }).click()
    await portal.getByLabel('URL').fill('https://example.com/hooks')
    await portal.getByText('More settings').click()
    await portal.getByRole('textbox', { name: /^Headers/ }).fill('Host: example.com')
    await portal.getByText('More settings').click()
    await portal.getByRole('button', { name: 'Add', exact: true }).click()
    await assertWrong(portal.getByRole('textbox', { name: /^Headers/ }), /cannot be set/, portal)
    await portal.close()
  })
})
