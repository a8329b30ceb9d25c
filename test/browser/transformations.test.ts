// The transformation of an endpoint: written and tested in the dashboard and in the portal, and what its attempts show.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { deliveries, emit, expectJson, startEmitting, subscribe, until } from '../emitting/harness.ts'
import { engines } from '../harness/engines.ts'
import { startReceiver } from '../harness/receiver.ts'
import { started } from '../harness/started.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, pictures, signIn } from './browser.ts'

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
  const page = started(() => openPage(browser, { width: 1440, height: 900 }, complaints))
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

  test('an attempt shows what was sent, and that its event was canceled', async () => {
    const store = (transformation: string | null) =>
      expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: { transformation } })
    await store(code("webhook.payload = { text: 'Parcel ' + webhook.payload.data.parcel }"))
    const sent = await deliver(43)
    await page.goto(`${service.baseUrl}/dashboard/deliveries/${sent.id}`)
    await page.getByText('Changed by the transformation.').waitFor()
    await page.getByRole('region', { name: 'Request body' }).getByText('"Parcel 43"').waitFor()
    await assertAccessible(page)
    await pictures(page, 'transformation-attempt')
    await store(code('webhook.cancel = true'))
    const canceled = await deliver(44)
    await page.goto(`${service.baseUrl}/dashboard/deliveries/${canceled.id}`)
    await page.getByText('canceled', { exact: true }).waitFor()
    await assertAccessible(page)
    await pictures(page, 'transformation-canceled-attempt')
    await store(null)
  })

  test('without a complaint of the browser', () => {
    assert.deepEqual(complaints, [])
  })
})
