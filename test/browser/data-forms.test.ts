import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { engines, started, startedService } from '../harness/index.ts'
import { assertAccessible } from './accessibility.ts'
import { launchBrowser, signIn } from './browser.ts'

const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const field = (name: string, type: string, more: object = {}) => ({
  name,
  type,
  nullable: false,
  description: '',
  ...more,
})
const properties = {
  name: { type: 'string', maxLength: 100 },
  text: { type: 'string', maxLength: 50_000 },
  count: { type: 'integer' },
  price: nullable({ type: 'number' }),
  sold: { type: 'boolean' },
  checked: nullable({ type: 'boolean' }),
  state: { type: 'string' },
  day: nullable({ type: 'string', format: 'date' }),
  seenAt: { type: 'string', format: 'date-time' },
  extra: {},
}
/** A list with a field of each type, as `GET /lists` describes it. */
const things = {
  name: 'things',
  path: '/things',
  summary: 'Things',
  key: ['id'],
  fields: [
    field('id', 'text'),
    field('name', 'text'),
    field('text', 'text'),
    field('count', 'integer'),
    field('price', 'number', { nullable: true }),
    field('sold', 'boolean'),
    field('checked', 'boolean', { nullable: true }),
    field('state', 'enum', { values: ['new', 'used'] }),
    field('day', 'date', { nullable: true }),
    field('seenAt', 'timestamp'),
    field('extra', 'json'),
  ],
  filters: [],
  sorts: [],
  order: ['id'],
  expansions: [],
  pages: ['cursor'],
  limit: { default: 20, max: 100 },
  total: 'none',
  selectable: false,
  exports: [],
  access: 'admin',
  writes: {
    create: { type: 'object', properties, required: Object.keys(properties) },
    change: { type: 'object', properties },
    delete: true,
  },
}
const row = {
  id: 'a',
  name: 'Lamp',
  text: 'Bright.\nWarm.',
  count: 3,
  price: null,
  sold: false,
  checked: null,
  state: 'new',
  day: '2026-01-31',
  seenAt: '2026-01-31T08:30:00.123456Z',
  extra: { color: 'red' },
}

/** The form of a row is made of the description of its list, which is answered here, since no list of the service has all types. */
describe('forms of data in a browser', () => {
  let page: Page
  const sent: { method: string; body: unknown }[] = []

  const service = startedService(engines[0]!)
  const browser = started(launchBrowser)
  before(async () => {
    page = await browser.newPage({ viewport: { width: 1440, height: 1200 }, timezoneId: 'Europe/Berlin' })
    await signIn(page, service, 'Ada Lovelace')
    await page.route(`${service.baseUrl}/lists`, (route) => route.fulfill({ json: { data: [things] } }))
    await page.route(new RegExp(`^${service.baseUrl}/things`), (route) => {
      const method = route.request().method()
      if (method !== 'GET') sent.push({ method, body: route.request().postDataJSON() })
      const page = { data: [row], pageInfo: { hasNextPage: false, nextCursor: null } }
      return route.fulfill({ json: method === 'GET' ? page : row })
    })
  })

  const form = () => page.getByRole('dialog')
  const change = async (): Promise<void> => {
    await page.goto(`${service.baseUrl}/dashboard/data/things`)
    await page.getByRole('button', { name: 'a', exact: true }).click()
    await form().getByRole('button', { name: 'Change' }).click()
  }

  test('each type has its control, filled with the value', async () => {
    await change()
    const control = (name: string) => form().getByLabel(`${name} (optional)`, { exact: true })
    const tag = (name: string) =>
      control(name).evaluate((element) => (element as { tagName: string }).tagName)
    assert.equal(await tag('name'), 'INPUT')
    assert.equal(await tag('text'), 'TEXTAREA')
    assert.equal(await control('text').inputValue(), row.text)
    assert.equal(await control('count').getAttribute('inputmode'), 'numeric')
    assert.ok(await control('price').isDisabled())
    assert.ok(await form().getByLabel('No value for price').isChecked())
    assert.equal(await form().getByRole('checkbox', { name: 'sold' }).isChecked(), false)
    assert.deepEqual(await control('checked').locator('option').allInnerTexts(), ['no value', 'yes', 'no'])
    assert.deepEqual(await control('state').locator('option').allInnerTexts(), ['new', 'used'])
    assert.equal(await control('day').getAttribute('type'), 'date')
    // In the time zone of the reader.
    assert.match(await control('seenAt').inputValue(), /^2026-01-31T09:30/)
    assert.deepEqual(JSON.parse(await control('extra').inputValue()), row.extra)
    await assertAccessible(page)
  })

  test('only what changed is sent, in its type; the rest keeps its microseconds', async () => {
    await form().getByLabel('No value for price').uncheck()
    await form().getByLabel('price (optional)', { exact: true }).fill('12.5')
    await form().getByRole('checkbox', { name: 'sold' }).check()
    await form().getByLabel('checked (optional)').selectOption('no')
    await form().getByLabel('state (optional)').selectOption('used')
    await form().getByLabel('No value for day').check()
    await form().getByLabel('extra (optional)').fill('{"color":')
    await form().getByRole('button', { name: 'Save' }).click()
    await form().getByText('Enter JSON').waitFor()
    assert.deepEqual(sent, [])
    await form().getByLabel('extra (optional)').fill('["a", 1]')
    await form().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Row saved', { exact: true }).waitFor()
    assert.deepEqual(sent, [
      {
        method: 'PATCH',
        body: { price: 12.5, sold: true, checked: false, state: 'used', day: null, extra: ['a', 1] },
      },
    ])
  })

  test('a time is sent as the moment that the reader chose', async () => {
    sent.splice(0)
    await change()
    await form().getByLabel('seenAt (optional)').fill('2026-07-01T10:00:00')
    await form().getByRole('button', { name: 'Save' }).click()
    await page.getByText('Row saved', { exact: true }).first().waitFor()
    assert.deepEqual(sent, [{ method: 'PATCH', body: { seenAt: '2026-07-01T08:00:00.000Z' } }])
  })
})
