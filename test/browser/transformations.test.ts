// The transformation of an endpoint: written and tested in the dashboard and in the portal, and what its attempts show.
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { before, describe, test } from 'node:test'
import { de } from '../../dashboard/src/portal/language/de.ts'
import { deliveries, emit, expectJson, startEmitting, subscribe, until } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, started, startReceiver } from '../harness/index.ts'
import { assertAccessible } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage, pictures, signIn } from './browser.ts'

const code = (line: string): string => `function handler(webhook) {\n  ${line}\n  return webhook\n}\n`

describe('transformations in a browser', () => {
  let id: string
  const complaints: string[] = []

  const receiver = started(() => startReceiver(204))
  const service = started(() =>
    startEmitting(engines[0]!, {
      config: {
        emitting: {
          eventTypes: {
            'order.paid': { samples: [{ orderId: 'A-1001' }] },
            'user.created': { samples: [{ user: 7 }] },
          },
        },
      },
    }),
  )
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    ;({ id } = await subscribe(service, { url: receiver.url, owner: 'acme', eventTypes: ['order.*'] }))
    await deliver(42)
    await signIn(page, service, 'Ada Lovelace')
  })

  const deliver = async (parcel: number) => {
    const { eventId } = await emit(service, { type: 'order.shipped', data: { parcel }, audience: 'acme' })
    return until(
      async () =>
        (await deliveries(service, id)).find((one) => one.eventId === eventId && one.status === 'delivered'),
      `parcel ${parcel} is delivered`,
    )
  }
  const on = (where: Page) => {
    const side = (name: string) => where.getByRole('region', { name, exact: true })
    return {
      side,
      editor: where.getByLabel('Code', { exact: true }),
      press: (name: string) => where.getByRole('button', { name, exact: true }).click(),
      assertNoSidewaysScroll: async () =>
        assert.equal(await where.evaluate('document.documentElement.scrollWidth > innerWidth'), false),
    }
  }

  test('code is tested with an event that the endpoint got: before and after', async () => {
    const { side, editor, press, assertNoSidewaysScroll } = on(page)
    await page.goto(`${service.baseUrl}/dashboard/subscribers/${id}`)
    await page.getByRole('tab', { name: 'Transformation' }).click()
    await editor.waitFor()
    const events = page.getByLabel('Event', { exact: true })
    await events.getByText(/^order\.shipped · /).waitFor({ state: 'attached' })
    assert.deepEqual(
      (await events.locator('option').allInnerTexts()).map((text) => text.replace(/ · .*/, '')),
      ['order.shipped', 'Sample of order.paid'],
    )
    await editor.fill(code("webhook.payload = { text: 'Parcel ' + webhook.payload.data.parcel }"))
    await press('Test')
    await side('Before').getByText('parcel').waitFor()
    await side('After').getByText('"Parcel 42"').waitFor()
    await side('After').getByText(`POST ${receiver.url}`).waitFor()
    await assertAccessible(page)
    await page.setViewportSize({ width: 390, height: 900 })
    await assertNoSidewaysScroll()
    const [before, after] = [await side('Before').boundingBox(), await side('After').boundingBox()]
    assert.ok(before!.y + before!.height <= after!.y, 'stacked')
    await page.setViewportSize({ width: 1440, height: 900 })
    await events.selectOption('Sample of order.paid')
    await editor.fill(code('webhook.payload = webhook.payload.data'))
    await press('Test')
    await side('After').getByText('"A-1001"').waitFor()
  })

  test('a canceled event and an error with its line', async () => {
    const { side, editor, press } = on(page)
    await editor.fill(code('webhook.cancel = true'))
    await press('Test')
    await side('After').getByText('Canceled: the event is not sent.').waitFor()
    await pictures(page, 'transformation-canceled')
    await editor.fill(code('webhook.payload = missing.text'))
    await press('Test')
    await side('After')
      .getByText(/^Line 2: .*missing/)
      .waitFor()
    await assertAccessible(page)
  })

  test('a template is saved, and removed after a question', async () => {
    const { editor, press } = on(page)
    await press('Templates')
    await page.getByRole('menuitem', { name: /Slack/ }).click()
    await answerDialog(page, 'Replace')
    assert.match(await editor.inputValue(), /function handler/)
    await press('Save')
    await page.getByText('Saved', { exact: true }).first().waitFor()
    await page.goto(`${service.baseUrl}/dashboard/subscribers/${id}?tab=transformation`)
    await press('Remove')
    await answerDialog(page, 'Remove')
    await page.getByText('Transformation removed').first().waitFor()
    const { transformation } = await expectJson<{ transformation: unknown }>(
      service,
      200,
      `/subscribers/${id}`,
    )
    assert.equal(transformation, null)
  })

  test('an attempt shows what was sent, and that its event was canceled', async () => {
    const store = (transformation: string | null) =>
      expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: { transformation } })
    await store(code("webhook.payload = { text: 'Parcel ' + webhook.payload.data.parcel }"))
    const sent = await deliver(43)
    await page.goto(`${service.baseUrl}/dashboard/deliveries/${sent.id}`)
    await page.getByText('Changed by the transformation.').waitFor()
    await page.getByRole('region', { name: 'Request body' }).getByText('"Parcel 43"').waitFor()
    await assertAccessible(page)
    await store(code('webhook.cancel = true'))
    const canceled = await deliver(44)
    await page.goto(`${service.baseUrl}/dashboard/deliveries/${canceled.id}`)
    await page.getByText('canceled', { exact: true }).waitFor()
    await assertAccessible(page)
    await store(null)
  })

  test('customers do the same in the portal, in their language', async () => {
    const context = await browser.newContext({ locale: 'de', viewport: { width: 390, height: 900 } })
    const portal = await context.newPage()
    const { side, press, assertNoSidewaysScroll } = on(portal)
    const texts = de.transformation
    await portal.goto(await makeLink(service, 'acme'))
    await press(receiver.url)
    await portal.getByRole('tab', { name: texts.title }).click()
    await portal.getByLabel(texts.code, { exact: true }).fill(code('webhook.payload = { done: true }'))
    await press(texts.test)
    await side(texts.before).getByText('parcel').waitFor()
    await side(texts.after).getByText('done').waitFor()
    await assertNoSidewaysScroll()
    await assertAccessible(portal)
    await press(de.ui.save)
    await portal.getByText(de.ui.saved, { exact: true }).first().waitFor()
    await press(texts.remove)
    await answerDialog(portal, texts.remove)
    await portal.getByText(texts.removed).first().waitFor()
    await context.close()
  })

  test('without a complaint of the browser', () => {
    assert.deepEqual(complaints, [])
  })
})
