import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emit, expectJson, startEmitting, subscribe } from '../emitting/harness.ts'
import { makeLink } from '../emitting/portal-harness.ts'
import { engines, started, startReceiver } from '../harness/index.ts'
import { assertAccessible } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage } from './browser.ts'
import { failReads } from './failed-reads.ts'

/** What an owner does with the link that they were given. */
describe('the portal in a browser', () => {
  const complaints: string[] = []

  const receiver = started(() => startReceiver(500, 500, 204))
  const service = started(() =>
    startEmitting(engines[0]!, {
      env: { BRAND_NAME: 'Acme Hooks', BRAND_COLOR: '#7a1fa2' },
      config: {
        emitting: {
          eventTypes: {
            'order.shipped': {
              description: 'An order left the warehouse.',
              schema: { type: 'object', required: ['order'], properties: { order: { type: 'integer' } } },
              samples: [{ order: 42 }],
            },
            'order.paid': { description: 'An order was paid.' },
          },
        },
      },
    }),
  )
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))

  test('without a link the page explains itself', async () => {
    await page.goto(`${service.baseUrl}/portal`)
    await page.getByText('You are not signed in').waitFor()
    await assertAccessible(page)
  })

  test('the link opens the pages once, and is gone from the address', async () => {
    await subscribe(service, { url: 'http://127.0.0.1:9/of-globex', owner: 'globex' })
    const link = await makeLink(service, 'acme')
    await page.goto(link)
    await page.getByRole('heading', { level: 1, name: 'Your endpoints' }).waitFor()
    assert.equal(page.url(), `${service.baseUrl}/portal`)
    await page.getByText('Acme Hooks').waitFor()
    await page.getByText('No endpoints yet').waitFor()
    assert.equal(await page.getByText('of-globex').count(), 0)
    await assertAccessible(page)
    const other = await browser.newContext()
    const elsewhere = await other.newPage()
    await elsewhere.goto(link)
    await elsewhere.getByText('has expired or was already used').waitFor()
    await other.close()
  })

  test('an endpoint is added, with event types of the catalogue; its secret is shown this once', async () => {
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('All, including future ones').uncheck()
    await page.getByText('Choose at least one.').waitFor()
    await page.getByRole('checkbox', { name: /^order\.shipped/ }).check()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('shown only once').waitFor()
    assert.match(await page.getByRole('dialog').locator('code').innerText(), /^whsec_/)
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Send test event' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Send test event' }).waitFor()
    assert.doesNotMatch(await page.locator('body').innerText(), /whsec_/)
  })

  test('what cannot be read of a form is refused at its field, and nothing is changed', async () => {
    const stored = { rateLimit: 2, headers: { 'x-team': 'billing' } }
    const { data } = await expectJson<{ data: { id: string }[] }>(service, 200, '/subscribers?owner=acme')
    const path = `/subscribers/${data[0]!.id}`
    const settings = async (): Promise<unknown> => {
      const { rateLimit, headers } = await expectJson<typeof stored>(service, 200, path)
      return { rateLimit, headers }
    }
    await expectJson(service, 200, path, { method: 'PATCH', json: stored })
    await page.reload()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('More settings').click()
    const limit = dialog.getByLabel('Attempts per second')
    await limit.fill('')
    await limit.pressSequentially('1e')
    await dialog.getByRole('button', { name: 'Save' }).click()
    assert.equal(await dialog.locator('input:invalid').count(), 1)
    await limit.fill('0.5')
    await dialog.getByLabel('Headers (optional)').fill('X-Team billing')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('The header “X-Team billing” must have the form Name: value.').waitFor()
    assert.equal(await dialog.getByLabel('Headers (optional)').getAttribute('aria-invalid'), 'true')
    assert.deepEqual(await settings(), stored)
    await dialog.getByLabel('Headers (optional)').fill('x-team: shipping')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.deepEqual(await settings(), { rateLimit: 0.5, headers: { 'x-team': 'shipping' } })
    await expectJson(service, 200, path, { method: 'PATCH', json: { rateLimit: null, headers: {} } })
  })

  test('a dead delivery is seen with payload and attempts, and sent again', async () => {
    await emit(service, { type: 'order.shipped', data: { order: 42 }, audience: 'acme' })
    const row = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr', { hasText: 'failed' })
    await row.waitFor()
    await assertAccessible(page)
    await row.getByRole('button', { name: 'order.shipped' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Attempt 2').waitFor()
    await drawer.getByRole('region', { name: 'Request body' }).getByText('42', { exact: true }).waitFor()
    await assertAccessible(page)
    await drawer.getByRole('button', { name: 'Resend' }).click()
    await drawer.getByText('delivered', { exact: true }).first().waitFor()
    await page.goBack()
    await drawer.waitFor({ state: 'detached' })
  })

  test('many are sent again after they were counted', async () => {
    await page.getByRole('tab', { name: 'Replays' }).click()
    await page.getByLabel('Deliveries').selectOption('delivered')
    await page.getByRole('button', { name: 'Count' }).click()
    await page.getByRole('button', { name: 'Replay 1' }).click()
    await page.getByText('1 of 1').waitFor()
    await assertAccessible(page)
  })

  test('replays are read as seldom as all else while none runs', async () => {
    const idle = await (
      await browser.newContext({ storageState: await page.context().storageState() })
    ).newPage()
    await idle.clock.install()
    await idle.goto(page.url())
    await idle.getByText('1 of 1').waitFor()
    const reads: string[] = []
    idle.on('request', (request) => reads.push(new URL(request.url()).pathname))
    const poll = idle.waitForResponse((response) =>
      /\/portal\/subscribers\/[^/]+$/.test(new URL(response.url()).pathname),
    )
    await Promise.all([poll, idle.clock.runFor(10_000)])
    const countOf = (path: RegExp): number => reads.filter((read) => path.test(read)).length
    assert.ok(countOf(/\/jobs$/) <= countOf(/\/portal\/subscribers\/[^/]+$/) + 1, reads.join(' '))
    await idle.context().close()
  })

  test('the code that verifies has the address of the endpoint', async () => {
    await page.getByRole('tab', { name: 'Verification code' }).click()
    await page.getByRole('tab', { name: 'Python' }).click()
    await page
      .getByText(/import hmac|standardwebhooks/)
      .first()
      .waitFor()
    await assertAccessible(page)
  })

  test('a customer narrows the events, and chooses body and signature headers', async () => {
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('More settings').click()
    await dialog.getByLabel('Payload conditions').fill('/order')
    await dialog.getByLabel('Channels').fill('north, south')
    await dialog.getByLabel('Signature headers').selectOption('svix')
    await dialog.getByLabel('HTTP message signatures').check()
    await dialog.getByLabel('Body', { exact: true }).selectOption('data')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('The condition “/order” must have a path, an operator and a value.').waitFor()
    await assertAccessible(page)
    await dialog.getByLabel('Payload conditions').fill('/order gte 42')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('svix-id').first().waitFor()
    const { data } = await expectJson<{ data: object[] }>(service, 200, '/subscribers?owner=acme')
    assert.partialDeepStrictEqual(data[0], {
      conditions: [{ path: '/order', op: 'gte', value: 42 }],
      channels: ['north', 'south'],
      signatureHeaders: 'svix',
      httpSignature: true,
      body: 'data',
    })
  })

  test('a new secret is made after a question', async () => {
    await page.getByRole('tab', { name: 'Secrets' }).click()
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await answerDialog(page, 'Rotate secret')
    await page.getByText('shown only once').waitFor()
    await page.getByRole('table', { name: 'Keys' }).getByRole('row').nth(2).waitFor()
    await assertAccessible(page)
  })

  test('an endpoint is changed and paused, and "back" leads to the list', async () => {
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Description (optional)').fill('our shop')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: /our shop/ }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByRole('tab', { name: 'Overview' }).click()
    await page.getByText('Delivered', { exact: true }).waitFor()
    await page.getByText('/order gte 42').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'All endpoints' }).click()
    await page.getByRole('button', { name: 'our shop' }).waitFor()
    await page.locator('summary', { hasText: 'order.shipped' }).click()
    await page.getByText('An order left the warehouse.').waitFor()
    await assertAccessible(page)
  })

  test('a form stays when a read in the background fails', async () => {
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByLabel('URL').fill('https://half-written.example')
    await failReads(page, '/portal/subscribers')
    assert.equal(await page.getByLabel('URL').inputValue(), 'https://half-written.example')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  test('a refusal of the clipboard is said', async () => {
    await page.getByRole('button', { name: 'our shop' }).click()
    await page.getByRole('tab', { name: 'Verification code' }).click()
    await page.getByRole('tablist', { name: 'Language' }).waitFor()
    await page.evaluate(
      `navigator.clipboard.writeText = () => Promise.reject(new Error('not here')); document.execCommand = () => false`,
    )
    await page.getByRole('button', { name: /^Copy / }).click()
    await page.getByRole('status').getByText('Could not copy; select the text').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'All endpoints' }).click()
  })

  test('a link of another owner asks before it takes the place of the session', async () => {
    const link = await makeLink(service, 'globex')
    await page.goto(link)
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('You are signed in as acme. The link opens the portal of globex.').waitFor()
    await dialog.getByRole('button', { name: 'Stay here' }).click()
    await page.getByRole('banner').getByText('acme', { exact: true }).waitFor()
    await page.goto(link)
    await dialog.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('banner').getByText('globex', { exact: true }).waitFor()
    await page.getByRole('button', { name: /of-globex/ }).waitFor()
  })

  test('the end of the session is noticed on the page of an endpoint, also by "Log out"', async () => {
    const end = () => service.admin('/portal-links?owner=globex', { method: 'DELETE' })
    await page.getByRole('button', { name: /of-globex/ }).click()
    await page.getByRole('tab', { name: 'Overview' }).click()
    assert.equal((await end()).status, 204)
    await page.getByText('has expired or was already used').waitFor()
    assert.equal(await page.getByRole('tab').count(), 0)
    await page.goto(await makeLink(service, 'globex'))
    await page.getByRole('button', { name: /of-globex/ }).click()
    await page.getByRole('tab', { name: 'Overview' }).waitFor()
    // Otherwise polling may notice it before the click.
    await page.route(/\/portal\//, (route) =>
      route.request().method() === 'GET' ? undefined : route.continue(),
    )
    assert.equal((await end()).status, 204)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('has expired or was already used').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.goto(await makeLink(service, 'globex'))
  })

  test('an endpoint is removed after a question', async () => {
    await page.getByRole('button', { name: /of-globex/ }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await answerDialog(page, 'Delete')
    await page.getByText('No endpoints yet').waitFor()
    await expectJson(service, 200, '/subscribers')
  })

  test('who leaves needs another link', async () => {
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('has expired or was already used').waitFor()
    assert.equal(await page.getByText('Your endpoints').count(), 0)
  })

  test('without a complaint of the browser but for refused calls', () => {
    assert.deepEqual(
      complaints.filter((text) => !/status of (400|401|409|422)/.test(text)),
      [],
    )
  })
})
