// Endpoints, deliveries, event types and customers in the dashboard, as a person works with them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { deliveries, emit, expectJson, startEmitting, subscribe, until } from '../emitting/harness.ts'
import { engines, started, startReceiver } from '../harness/index.ts'
import { assertAccessible, assertFits } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage, signIn } from './browser.ts'

interface BrowserGlobals {
  getSelection: () => { selectAllChildren(element: unknown): void }
}

const eventTypes = {
  'order.paid': {
    description: 'An order was paid.',
    schema: { type: 'object', required: ['orderId'], properties: { orderId: { type: 'string' } } },
    samples: [{ orderId: 'A-1001' }],
  },
}

describe('outbound pages of the dashboard', () => {
  /** A subscriber of acme with five dead deliveries. */
  let id: string
  const complaints: string[] = []

  const receiver = started(() => startReceiver(204))
  const service = started(() =>
    startEmitting(engines[0]!, {
      env: { EMIT_RETRY_SCHEDULE: '0' },
      config: { emitting: { eventTypes } },
    }),
  )
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    ;({ id } = await subscribe(service, { url: receiver.url, owner: 'acme', eventTypes: ['order.*'] }))
    const send = async (count: number, status: string): Promise<void> => {
      for (let n = 0; n < count; n += 1)
        await emit(service, { type: 'order.shipped', data: { order: n }, audience: 'acme' })
      await until(
        async () => (await deliveries(service, id, `?status=${status}&limit=100`)).length === count,
        `${count} are ${status}`,
      )
    }
    await send(52, 'delivered')
    receiver.answer((response) => response.writeHead(503, { 'x-reason': 'busy' }).end('{"error":"busy"}'))
    await send(5, 'dead')
    await signIn(page, service, 'Ada Lovelace')
  })

  const open = (path: string) => page.goto(`${service.baseUrl}/dashboard${path}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const tab = (name: string) => page.getByRole('tab', { name, exact: true })
  const link = (name: string) => page.getByRole('link', { name, exact: true }).first()

  test('add an endpoint and see its failing attempt with request and response', async () => {
    await open('/')
    await link('Endpoints').click()
    await link('Add endpoint').click()
    await page.getByLabel('URL').waitFor()
    // The field has the focus.
    await page.keyboard.type(`${receiver.url}/new`)
    await button('Add').click()
    await page.getByText('It is shown only once').waitFor()
    assert.match(await page.locator('code', { hasText: 'whsec_' }).innerText(), /^whsec_/)
    await assertAccessible(page)
    await link('View test delivery').click()
    await page.getByRole('heading', { name: 'postern.test' }).waitFor()
    const request = page.getByRole('region', { name: 'Request', exact: true })
    const response = page.getByRole('region', { name: 'Response', exact: true })
    await response.getByText('503').waitFor()
    await request.getByText(`POST ${receiver.url}/new`).waitFor()
    assert.match(
      await request.getByLabel('Request headers', { exact: true }).innerText(),
      /webhook-timestamp: \d+/,
    )
    await request.getByText('A test event: if its signature verifies').waitFor()
    assert.match(await response.getByLabel('Response headers', { exact: true }).innerText(), /x-reason: busy/)
    await response.getByText('"busy"').waitFor()
    await assertAccessible(page)
  })

  test('a new endpoint has the settings of an existing one', async () => {
    const labels = async () =>
      (await page.locator('form :is(label, legend):visible').allInnerTexts()).filter(
        (label) => !/^(?:Customer|Send a test)/.test(label),
      )
    await open(`/subscribers/${id}?tab=settings`)
    await page.getByLabel('Successful statuses').waitFor()
    const existing = await labels()
    await open('/subscribers/new')
    await page.getByLabel('URL').fill(`${receiver.url}/special`)
    await page.getByLabel('All, including future ones').uncheck()
    await page.getByLabel(/types and patterns/).fill('*.created, order.*.paid')
    await page.getByText('as in order.*, *.created, order.*.paid').waitFor()
    await page.getByText('More settings').click()
    assert.deepEqual(await labels(), existing)
    await page.getByLabel('Method').selectOption('PUT')
    await page.getByLabel('Successful statuses').fill('202, 3xx')
    await page.getByLabel('Statuses without retry').fill('404')
    await page.getByLabel('Compress the body (gzip)').check()
    await page.getByLabel('Authentication').selectOption('bearer')
    await page.getByLabel('Send a test event now').uncheck()
    await assertAccessible(page)
    await page.getByText('More settings').click()
    await button('Add').click()
    await page.getByLabel('Token', { exact: true }).and(page.locator(':focus')).fill('t0ken')
    await button('Add').click()
    await page.getByText('It is shown only once').waitFor()
    const { data } = await expectJson<{ data: Record<string, unknown>[] }>(
      service,
      200,
      '/subscribers?url=/special',
    )
    const { method, successStatuses, noRetryStatuses, gzip, auth, eventTypes } = data[0]!
    assert.deepEqual(
      { method, successStatuses, noRetryStatuses, gzip, auth, eventTypes },
      {
        method: 'PUT',
        successStatuses: [202, '3xx'],
        noRetryStatuses: [404],
        gzip: true,
        auth: { type: 'bearer', token: '[redacted]' },
        eventTypes: ['*.created', 'order.*.paid'],
      },
    )
    const path = `/subscribers/${String(data[0]!['id'])}`
    assert.equal((await service.admin(path, { method: 'DELETE' })).status, 204)
  })

  test('deliveries are filtered in the address; one is sent again, and waits until it has arrived', async () => {
    await open('/deliveries')
    await page.getByRole('row').nth(5).waitFor()
    await button('Show more').click()
    await until(async () => (await page.getByRole('row').count()) > 55, 'the next page follows')
    await page.getByLabel('Status').selectOption('dead')
    await page.waitForURL('**status=dead*')
    await until(async () => (await page.getByRole('row').count()) === 7, 'six are dead')
    await page.getByLabel('Customer').fill('acme')
    await page.keyboard.press('Enter')
    await until(async () => (await page.getByRole('row').count()) === 6, 'five of acme are dead')
    await assertAccessible(page)
    await page.getByRole('row').nth(1).getByRole('link').first().click()
    await button('Resend').waitFor()
    const arrived = Promise.withResolvers<void>()
    receiver.answer((response) => void arrived.promise.then(() => response.writeHead(204).end()))
    await button('Resend').click()
    await page.getByText('Delivery queued').waitFor()
    assert.equal(await page.locator('h1').getByText('delivered').count(), 0, 'it has not arrived yet')
    arrived.resolve()
    await page.locator('h1').getByText('delivered').waitFor()
    assert.match(await page.locator('main ol > li').first().innerText(), /Attempt 2/)
    await page.getByRole('button', { name: /Attempt 1/ }).click()
    await page.getByRole('region', { name: 'Response' }).getByText('503').waitFor()
    await page.goBack()
    await page.waitForURL('**status=dead*')
    receiver.answer(503)
  })

  test('what is read, selected and focused stays when another attempt arrives', async () => {
    const [dead] = await deliveries(service, id, '?status=dead')
    await open(`/deliveries/${dead!.id}`)
    const headers = page
      .getByRole('region', { name: 'Request', exact: true })
      .getByLabel('Request headers', { exact: true })
    await headers.evaluate((element) => {
      // The types of the tests have no browser's globals.
      const { getSelection } = globalThis as unknown as BrowserGlobals
      getSelection().selectAllChildren(element)
    })
    const selected = () => page.evaluate<string>('getSelection().toString()')
    const text = await selected()
    assert.match(text, /webhook-id: /)
    await headers.focus()
    await expectJson(service, 202, `/deliveries/${dead!.id}/replay`, { method: 'POST' })
    await page.getByRole('button', { name: /Attempt 2/, expanded: false }).waitFor()
    await page.getByRole('button', { name: /Attempt 1/, expanded: true }).waitFor()
    assert.equal(await selected(), text)
    assert.equal(await page.evaluate<string>('document.activeElement.ariaLabel'), 'Request headers')
  })

  test('an endpoint is paused at once, and what is typed in its settings stays meanwhile', async () => {
    await open(`/subscribers/${id}?tab=settings`)
    await page.getByLabel('Description').fill('half of a ')
    await button('Pause').click()
    await page.getByText('Paused. Its events wait').waitFor()
    assert.equal(await page.getByLabel('Description').inputValue(), 'half of a ')
    await page.locator('[data-toasts]').getByRole('button', { name: 'Resume' }).click()
    await button('Pause').waitFor()
    assert.equal(await page.getByLabel('Description').inputValue(), 'half of a ')
  })

  test('an endpoint that fails says so in the list and by itself', async () => {
    await subscribe(service, { url: `${receiver.url}/failing`, eventTypes: ['*'] })
    await emit(service, { type: 'order.lost', data: {} })
    await open('/subscribers')
    await page.getByRole('row', { name: /failing .*\/failing/ }).waitFor()
    await assertAccessible(page)
    await page.getByLabel('State').selectOption('failing')
    await page.waitForURL('**state=failing*')
    await page.getByLabel('Search by URL').fill('/FAILING')
    await until(async () => (await page.getByRole('row').count()) === 2, 'one is left')
    await page.getByRole('link', { name: `${receiver.url}/failing` }).click()
    await page.getByText('Failing since').waitFor()
    await page.getByRole('img', { name: /0% of 1 attempts succeeded/ }).waitFor()
    await assertAccessible(page)
  })

  test('all settings are edited, and only changes are sent', async () => {
    await open(`/subscribers/${id}?tab=settings`)
    await page.getByLabel('Description').fill('Orders of acme')
    await page.getByLabel('Payload conditions').fill('/total gte 100\n/kind in ["a", "b"]')
    await page.getByLabel('Retry schedule').fill('0, 5, 300')
    await page.getByLabel('Additional headers').fill('X-Team: billing')
    await page.getByLabel('In order').check()
    await assertAccessible(page)
    await button('Save').click()
    await page.getByText('Saved', { exact: true }).first().waitFor()
    const stored = await expectJson<Record<string, unknown>>(service, 200, `/subscribers/${id}`)
    assert.equal(stored['description'], 'Orders of acme')
    assert.deepEqual(stored['conditions'], [
      { path: '/total', op: 'gte', value: 100 },
      { path: '/kind', op: 'in', value: ['a', 'b'] },
    ])
    assert.deepEqual(
      [stored['retrySchedule'], stored['ordered'], stored['timeout']],
      [[0, 5, 300], true, null],
    )
    await page.getByLabel('Payload conditions').fill('nonsense')
    await button('Save').click()
    await page.getByText('must have a path, an operator and a value').waitFor()
    await button('Discard changes').click()
  })

  test('a secret is rotated, shown once, and overlaps with the old one', async () => {
    await open(`/subscribers/${id}?tab=secrets`)
    await page.getByRole('columnheader', { name: 'Valid until' }).waitFor()
    await button('Rotate secret').click()
    await page.getByText('Both secrets sign each request for 24 hours').waitFor()
    await answerDialog(page, 'Rotate secret')
    await page.locator('code', { hasText: 'whsec_' }).waitFor()
    await until(async () => (await page.getByRole('row').count()) === 3, 'both keys sign')
    await assertAccessible(page)
    await tab('Overview').click()
    await tab('Secrets').click()
    await page.getByRole('columnheader', { name: 'Valid until' }).waitFor()
    assert.equal(await page.locator('code', { hasText: 'whsec_' }).count(), 0)
  })

  test('many are counted, queued at a rate with progress, and stopped', async () => {
    await open(`/subscribers/${id}?tab=replays`)
    await page.getByLabel('Maximum per second').fill('0.01')
    await button('Count').click()
    await button('Replay 4').click()
    await page.getByText('Queued, 0.01 per second: 1 of 4').waitFor()
    await assertAccessible(page)
    await button('Stop').click()
    await page.getByText('3 of 4 deliveries will not be sent again').waitFor()
    await answerDialog(page, 'Stop the replay')
    await page.getByRole('row', { name: /canceled.*1 of 4/ }).waitFor()
  })

  test('code that verifies signatures, for the real URL, in the chosen language', async () => {
    await open(`/subscribers/${id}?tab=code`)
    await page.getByLabel('Code in TypeScript', { exact: true }).getByText(receiver.url).waitFor()
    await tab('PHP').click()
    await page.getByLabel('Code in PHP', { exact: true }).getByText('hash_equals').waitFor()
  })

  test('an endpoint is disabled and deleted only after a question', async () => {
    const { id: other } = await subscribe(service, { url: `${receiver.url}/gone`, eventTypes: ['never'] })
    await open(`/subscribers/${other}?tab=danger`)
    await button('Disable').click()
    await assertAccessible(page)
    await answerDialog(page, 'Disable')
    await page.getByText('Disabled. Nothing is sent').waitFor()
    await button('Delete').click()
    await answerDialog(page, 'Cancel')
    await expectJson(service, 200, `/subscribers/${other}`)
    await button('Delete').click()
    await answerDialog(page, 'Delete endpoint')
    await page.getByText('Endpoint deleted').waitFor()
    await expectJson(service, 404, `/subscribers/${other}`)
  })

  test('an event is sent from its sample, and a payload that does not match the schema is rejected', async () => {
    await open('/event-types')
    await link('order.paid').waitFor()
    await page.getByRole('row', { name: /order\.shipped.*not declared/ }).waitFor()
    await link('order.paid').click()
    await page.getByRole('heading', { level: 1, name: 'order.paid' }).waitFor()
    await button('Send event').click()
    const data = page.getByLabel('Payload (JSON)')
    assert.match(await data.inputValue(), /A-1001/)
    await data.fill('{')
    await page.getByText('Invalid JSON').waitFor()
    await data.fill('{"orderId": 1}')
    await button('Send').click()
    await page.getByText('The data does not match the schema of order.paid').waitFor()
    await assertAccessible(page)
    await data.fill('{"orderId": "A-7"}')
    await button('Send').click()
    await page.waitForURL('**/deliveries?event=*')
    await page
      .getByRole('row', { name: /order\.paid/ })
      .first()
      .waitFor()
  })

  test('an event type is added, edited, archived and deleted', async () => {
    await open('/event-types')
    await button('Add event type').click()
    await page.getByLabel('Event type', { exact: true }).fill('parcel.sent')
    await page.getByLabel('Description').fill('A parcel left.')
    const schema = page.getByLabel('Schema (JSON Schema, optional)')
    await schema.fill('{"type": "nothing"}')
    await button('Add').click()
    await page.getByText('is not a JSON Schema').waitFor()
    await assertAccessible(page)
    await schema.fill('{"type": "object", "examples": [{"parcel": "p_1"}]}')
    await button('Add').click()
    await page.getByRole('heading', { level: 1, name: 'parcel.sent' }).waitFor()
    await page.getByText('"parcel": "p_1"').first().waitFor()
    await button('Edit').click()
    await page.getByLabel('Archived').check()
    await button('Save').click()
    await page.getByText('archived', { exact: true }).waitFor()
    await open('/event-types')
    await page.getByRole('row', { name: /parcel\.sent.*archived/ }).waitFor()
    await link('parcel.sent').click()
    await button('Delete').click()
    await answerDialog(page, 'Delete')
    await page.getByText('parcel.sent is deleted').waitFor()
    await expectJson(service, 404, '/event-types/parcel.sent', { method: 'DELETE' })
  })

  test('a customer shows what it has; a link to its portal is made and revoked', async () => {
    await open('/customers')
    await link('acme').waitFor()
    await link('acme').click()
    await button('Create link').click()
    const url = await page.locator('code', { hasText: '/portal#' }).innerText()
    assert.ok(url.startsWith(`${service.baseUrl}/portal#`))
    await page.getByText('valid until').waitFor()
    await assertAccessible(page)
    await button('Revoke access').click()
    await answerDialog(page, 'Revoke')
    await until(async () => (await page.getByText('valid until').count()) === 0, 'the link is gone')
    await open('/customers')
    await button('Add customer').click()
    await page.getByLabel('Customer ID').fill('initech/eu')
    await page.getByLabel('Display name').fill('Initech Europe')
    await assertAccessible(page)
    await button('Add').click()
    await page.locator('h1', { hasText: 'Initech Europe' }).waitFor()
    await button('Edit name').click()
    await page.getByRole('textbox', { name: 'Display name' }).fill('')
    await button('Save').click()
    await page.locator('h1', { hasText: 'initech/eu' }).waitFor()
  })

  test('a link for one customer is not on the page of another', async () => {
    const { id: other } = await subscribe(service, { url: 'http://127.0.0.1:9/', owner: 'globex' })
    await open('/customers')
    await link('acme').click()
    await button('Create link').click()
    await page.locator('code', { hasText: '/portal#' }).waitFor()
    await page.keyboard.press('Control+k')
    // Without the focus, the first keys would be lost.
    await page.locator('[role=combobox]:focus').waitFor()
    await page.keyboard.type('globex')
    await page.getByRole('group', { name: 'Customers' }).getByRole('option', { name: 'globex' }).click()
    await page.waitForURL('**/customers/globex')
    await page.locator('h1', { hasText: 'globex' }).waitFor()
    assert.equal(await page.locator('code', { hasText: '/portal#' }).count(), 0)
    await service.admin('/portal-links?owner=acme', { method: 'DELETE' })
    await service.admin(`/subscribers/${other}`, { method: 'DELETE' })
  })

  test('changes that arrive do not end a "Show more" that is under way', async () => {
    await open('/deliveries')
    await page.getByRole('row').nth(5).waitFor()
    const released = Promise.withResolvers<void>()
    const withCursor = ({ pathname, searchParams }: URL): boolean =>
      pathname.endsWith('/deliveries') && searchParams.has('cursor')
    const held = page.waitForRequest((request) => withCursor(new URL(request.url())))
    await page.route(
      withCursor,
      async (route) => {
        await released.promise
        await route.continue()
      },
      { times: 1 },
    )
    await button('Show more').click()
    const request = await held
    await page.evaluate(`new Promise((connected) => {
      const live = new EventSource('${service.baseUrl}/live')
      live.addEventListener('hello', connected)
      globalThis.heard = new Promise((resolve) =>
        live.addEventListener('changed', ({ data }) => {
          if (!data.includes('deliveries')) return
          live.close()
          // The page collects changes for a moment before it reads.
          setTimeout(resolve, 1_000)
        }),
      )
    })`)
    const [one] = await deliveries(service, id)
    assert.ok((await service.admin(`/deliveries/${one!.id}/replay`, { method: 'POST' })).ok)
    await page.evaluate('heard')
    assert.equal(request.failure(), null)
    released.resolve()
    await until(async () => (await page.getByRole('row').count()) > 55, 'the next page follows')
  })

  test('a refresh of the deliveries reads their first page, and keeps the further ones', async () => {
    const idle = await (
      await browser.newContext({ storageState: await page.context().storageState() })
    ).newPage()
    await idle.clock.install()
    await idle.goto(`${service.baseUrl}/dashboard/deliveries`)
    await idle.getByRole('row').nth(5).waitFor()
    await idle.getByRole('button', { name: 'Show more' }).click()
    await until(async () => (await idle.getByRole('row').count()) > 55, 'the next page follows')
    const shown = await idle.getByRole('row').count()
    const cursors: (string | null)[] = []
    const isRead = (url: string): boolean => new URL(url).pathname === '/deliveries'
    idle.on('request', (request) => {
      if (isRead(request.url())) cursors.push(new URL(request.url()).searchParams.get('cursor'))
    })
    const refresh = () =>
      Promise.all([idle.waitForResponse((response) => isRead(response.url())), idle.clock.runFor(5_000)])
    for (let times = 0; times < 4; times += 1) await refresh()
    assert.deepEqual(
      cursors.filter((cursor) => cursor !== null),
      [],
    )
    assert.ok(cursors.length >= 4)
    assert.equal(await idle.getByRole('row').count(), shown)
    const { id: other } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'order.shipped', data: { order: 1 } })
    await until(async () => (await deliveries(service, other)).length === 1, 'it is to be delivered')
    await refresh()
    await until(async () => (await idle.getByRole('row').count()) > shown, 'the new one is on top')
    assert.deepEqual(
      cursors.filter((cursor) => cursor !== null),
      [],
    )
    await idle.context().close()
    await service.admin(`/subscribers/${other}`, { method: 'DELETE' })
  })

  test('each page on a telephone and on a desk, in both themes', async () => {
    const [one] = await deliveries(service, id)
    const paths = [
      '/subscribers',
      '/subscribers/new',
      `/subscribers/${id}`,
      `/subscribers/${id}?tab=deliveries`,
      `/subscribers/${id}?tab=settings`,
      `/subscribers/${id}?tab=secrets`,
      `/subscribers/${id}?tab=replays`,
      `/subscribers/${id}?tab=code`,
      `/subscribers/${id}?tab=danger`,
      '/deliveries',
      `/deliveries/${one!.id}`,
      '/event-types',
      '/event-types/order.paid',
      '/customers',
      '/customers/acme',
    ]
    for (const path of paths) {
      await open(path)
      await page.locator('h1').waitFor()
      await until(async () => (await page.getByText('Loading…').count()) === 0, `${path} is read`)
      await assertFits(page)
    }
  })

  test('the browser had nothing to complain of but refused calls', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of 4\d\d/.test(text)),
      [],
    )
  })
})
