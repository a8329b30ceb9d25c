// Endpoints of a declared destination: their form from the declared fields, in the dashboard and in the portal, and their attempts.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { ja } from '../../dashboard/src/portal/language/ja.ts'
import { expectJson, startEmitting } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, started } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, openPage, signIn } from './browser.ts'

type Shown = AnswerTo<'GET /subscribers/{id}'>

describe('destinations in a browser', () => {
  const complaints: string[] = []
  const service = started(() =>
    startEmitting(engines[0]!, {
      config: {
        emitting: {
          destinations: {
            queue: {
              title: 'Message queue',
              fields: {
                name: { label: 'Queue name', required: true, description: 'As in orders.incoming.' },
                token: { label: 'Access token', secret: true, required: true },
              },
              owners: true,
              validate: ({ name }) => (name === 'wrong' ? 'There is no such queue.' : undefined),
              deliver: async () => ({ messageId: 'm-1' }),
            },
            raw: {
              validate: () => undefined,
              deliver: () => Promise.reject(new Error('the broker is down')),
            },
          },
        },
      },
    }),
  )
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(() => signIn(page, service, 'Ada Lovelace'))

  const newest = async () =>
    (await expectJson<{ data: Shown[] }>(service, 200, '/subscribers?limit=1')).data[0]!

  test('an endpoint is added from the declared fields; errors are at their fields', async () => {
    await page.goto(`${service.baseUrl}/dashboard/subscribers/new`)
    await page.getByLabel('Send to').selectOption('Message queue')
    assert.equal(await page.getByLabel('URL', { exact: true }).count(), 0)
    await page.getByText('More settings').click()
    assert.equal(await page.getByLabel('Method').count(), 0)
    assert.equal(await page.getByLabel('Authentication').count(), 0)
    await page.getByLabel('Queue name').fill('wrong')
    await page.getByLabel('Access token').fill('t0ken')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('group', { name: 'Settings' }).getByText('There is no such queue.').waitFor()
    await assertAccessible(page)
    await page.getByLabel('Queue name').fill('orders')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('It is shown only once').waitFor()
    const { destination, settings, secrets } = await newest()
    assert.deepEqual(
      { destination, settings, secrets },
      { destination: 'queue', settings: { name: 'orders' }, secrets: { token: '[redacted]' } },
    )
    await page.getByRole('link', { name: 'View test delivery' }).click()
    await page.locator('h1').getByText('delivered').waitFor()
    await page.getByRole('region', { name: 'Response', exact: true }).getByText('"m-1"').waitFor()
    await page.getByText('destination://queue', { exact: true }).last().waitFor()
    await assertAccessible(page)
  })

  test('a changed setting needs the secrets again', async () => {
    const { id } = await newest()
    await page.goto(`${service.baseUrl}/dashboard/subscribers/${id}?tab=settings`)
    await page.getByLabel('Queue name').waitFor()
    assert.equal(await page.getByLabel('Send to').inputValue(), 'Message queue')
    await page.getByLabel('Description').fill('Orders')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).first().waitFor()
    const token = page.getByLabel('Access token')
    assert.equal(await token.inputValue(), '[redacted]')
    await page.getByLabel('Queue name').fill('invoices')
    assert.equal(await token.inputValue(), '')
    await page.getByRole('button', { name: 'Save' }).click()
    await token.and(page.locator(':focus')).fill('another')
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Save' }).and(page.locator(':disabled')).waitFor()
    assert.deepEqual((await newest()).settings, { name: 'invoices' })
  })

  test('settings of a kind without fields are JSON', async () => {
    await page.goto(`${service.baseUrl}/dashboard/subscribers/new`)
    await page.getByLabel('Send to').selectOption('raw')
    await page.getByLabel('Settings', { exact: true }).fill('[]')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('The settings must be a JSON object.').waitFor()
    await page.getByLabel('Settings', { exact: true }).fill('{ "broker": "main" }')
    await page.getByLabel('Send a test event now').uncheck()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('It is shown only once').waitFor()
    assert.deepEqual((await newest()).settings, { broker: 'main' })
  })

  test('customers choose among the kinds that they may use', async () => {
    const context = await browser.newContext({ locale: 'ja', viewport: { width: 390, height: 900 } })
    const portal = await context.newPage()
    const { settings, portal: texts } = ja
    await portal.goto(await makeLink(service, 'acme'))
    await portal.getByRole('button', { name: texts.addEndpoint }).click()
    const kind = portal.getByLabel(settings.destination, { exact: true })
    await kind.waitFor()
    assert.deepEqual(await kind.locator('option').allInnerTexts(), [settings.http, 'Message queue'])
    await kind.selectOption('Message queue')
    await portal.getByLabel('Queue name').fill('acme')
    await portal.getByLabel('Access token').fill('t0ken')
    await assertAccessible(portal)
    await portal.getByRole('button', { name: texts.add, exact: true }).click()
    await portal.getByText(texts.newSecret).waitFor()
    assert.equal((await newest()).destination, 'queue')
    await context.close()
  })

  test('without a complaint of the browser but for rejected forms', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
    )
  })
})
