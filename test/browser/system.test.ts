// The pages of the system, the audit log and alerts, as an administrator uses them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startJob } from '../../src/events/jobs.ts'
import { startSmtpServer } from '../alerts/smtp-server.ts'
import { engines, started, startedService, startReceiver } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { assertAccessible, assertFits } from './accessibility.ts'
import { answerDialog, launchBrowser, signIn } from './browser.ts'

describe('the pages of the system', () => {
  const complaints: string[] = []

  const mail = started(startSmtpServer)
  const receiver = started(startReceiver)
  const service = startedService(engines[0]!, () => ({
    env: { SMTP_URL: mail.url, MAIL_FROM: 'gate@example.com', TRUSTED_PROXIES: '127.0.0.2' },
    config: {
      forwardAuth: {
        hosts: { 'orders.example.com': { allow: 'signed-in', programs: { scopes: ['orders:read'] } } },
      },
    },
  }))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(async () => {
    page.on('pageerror', (error) => complaints.push(String(error)))
    await signIn(page, service, 'Ada Lovelace')
  })

  const open = async (path: string, heading: string): Promise<void> => {
    await page.goto(`${service.baseUrl}/dashboard${path}`)
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
  }

  test('on a telephone the chosen place of a row of tabs is in view', async () => {
    await page.setViewportSize({ width: 390, height: 900 })
    await open('/system/doctor', 'Doctor')
    // It is scrolled there once the page is shown.
    await eventually(async () => {
      const box = await page.getByRole('link', { name: 'Doctor', exact: true }).boundingBox()
      return box && box.x >= 0 && box.x + box.width <= 390
    }, 'the chosen place is in view')
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('an API key is created from Home, shown once, and revoked', async () => {
    await page.goto(`${service.baseUrl}/dashboard`)
    const click = async (role: 'link' | 'button' | 'checkbox', name: string): Promise<void> => {
      await page
        .getByRole(role, { name, exact: role !== 'checkbox' })
        .first()
        .click()
    }
    await click('link', 'API keys')
    await page.getByText('No API keys yet').waitFor()
    await assertFits(page)
    await click('button', 'Create API key')
    await page.getByLabel('Name').fill('shop back end')
    await click('checkbox', 'subscribers:read')
    await page.getByRole('checkbox', { name: 'orders:read', description: 'Use orders.example.com' }).check()
    await assertFits(page)
    await click('button', 'Create')
    const key = await page.getByLabel('The key', { exact: true }).textContent()
    await assertFits(page)
    const call = (): Promise<Response> =>
      service.fetch('/subscribers', { headers: { authorization: `Bearer ${key}` } })
    assert.equal((await call()).status, 200)
    await page.getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row', { name: /shop back end/ })
    await row.getByText('Ada Lovelace').waitFor()
    await row.getByText('orders:read').waitFor()
    assert.ok(!(await page.content()).includes(key!))
    await assertFits(page)
    await row.getByRole('button', { name: 'Revoke shop back end' }).click()
    await answerDialog(page, 'Cancel')
    assert.equal((await call()).status, 200)
    await row.getByRole('button', { name: 'Revoke shop back end' }).click()
    await answerDialog(page, 'Revoke')
    await row.getByText('revoked').waitFor()
    assert.equal((await call()).status, 401)
  })

  test('the overview names what runs and what waits', async () => {
    await open('/system', 'System')
    await page.getByText('up to date').waitFor()
    await page.getByText(process.versions.node).waitFor()
    await page.getByRole('heading', { name: 'Queues and storage' }).waitFor()
    await assertFits(page)
  })

  test('queues, retention and the size of the tables', async () => {
    // Sizes of tables are PostgreSQL's estimates, which it makes in the background.
    if (service.database.engine === 'postgres') await service.database.pool.query('analyze')
    await open('/system/queues', 'Queues')
    await page.getByText('Waiting for their handlers.').waitFor()
    await assertFits(page)
    await page.goto(`${service.baseUrl}/dashboard`)
    await page.getByRole('link', { name: 'System', exact: true }).first().click()
    await page.getByRole('link', { name: 'Retention and retries' }).click()
    await page.getByRole('table', { name: 'Retention' }).getByText('PAYLOAD_RETENTION_DAYS').waitFor()
    await page
      .getByText(/then again after 5 seconds, 5 minutes, .* 10 attempts\./)
      .first()
      .waitFor()
    await page.getByText(/internal tables with rows/).click()
    await page.getByRole('table', { name: 'Tables' }).getByText('audit_log').waitFor()
    await assertFits(page)
  })

  test('a job shows its progress and is cancelled', async () => {
    await open('/system/jobs', 'Jobs')
    await page.getByText('No jobs yet').waitFor()
    const job = await service.database.transaction((tx) =>
      // The rate lets no step of it begin while the test runs.
      startJob(tx, { kind: 'reprocess', filter: {}, total: 2_000, rate: 1 }, Date.now() + 3_600_000),
    )
    await service.database.transaction((tx) =>
      tx.updateTable('jobs').set({ done: 500 }).where('id', '=', job.id).execute(),
    )
    await open('/system/jobs?status=running', 'Jobs')
    const row = page.getByRole('row', { name: /Run events again/ })
    await row.getByText('500 of 2,000').waitFor()
    await assertFits(page)
    await row.getByRole('button', { name: 'Cancel…' }).click()
    await answerDialog(page, 'Cancel job')
    await page.getByText('No job matches these filters').waitFor()
    await page.getByLabel('State').selectOption('cancelled')
    await page.getByRole('row', { name: /Run events again/ }).waitFor()
    await page.waitForURL(/status=cancelled/)
  })

  test('in a narrow window no column of a table is cut off: it scrolls sideways, and has the focus for that', async () => {
    const cell = 'main table th'
    await page.setViewportSize({ width: 1024, height: 900 })
    await open('/system/jobs', 'Jobs')
    await page.locator(cell).first().waitFor({ state: 'attached' })
    const scroller = page.getByRole('group', { name: 'Jobs, scrolls sideways' })
    assert.equal(await scroller.getAttribute('tabindex'), '0')
    for (const head of await page.locator(cell).all()) {
      const { width } = (await head.boundingBox())!
      assert.ok(width >= 7 * 16, `${await head.textContent()} is ${width} pixels wide`)
    }
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(wider <= 0, `the page is ${wider} pixels wider than the window`)
    await assertAccessible(page)
    await page.setViewportSize({ width: 1440, height: 900 })
    await scroller.waitFor({ state: 'detached' })
  })

  test('settings are searched, and secrets are not shown', async () => {
    await open('/system/settings', 'Settings')
    await page
      .getByRole('list', { name: 'Retention' })
      .getByText('1 year')
      .or(page.getByText('365 days'))
      .first()
      .waitFor()
    await assertFits(page)
    await page.getByLabel('Search settings').fill('webhook_secret')
    const row = page.getByRole('listitem').filter({ has: page.getByText('WEBHOOK_SECRET', { exact: true }) })
    await row.getByText('secret', { exact: true }).waitFor()
    await page.getByText('EMIT_TIMEOUT', { exact: true }).waitFor({ state: 'detached' })
    await page.waitForURL(/q=webhook_secret/)
    assert.ok(!(await page.content()).includes('test-webhook-secret'))
    await page.getByLabel('Search settings').fill('')
    await page.getByLabel('Origin', { exact: true }).selectOption('changed')
    await page.getByText('MAIL_FROM', { exact: true }).waitFor()
    await page.getByText('EMIT_TIMEOUT', { exact: true }).waitFor({ state: 'detached' })
  })

  test('the doctor runs with progress, and says what to do', async () => {
    await open('/system/doctor', 'Doctor')
    await page.getByText('Not run yet').waitFor()
    await page.getByText('Identity providers', { exact: true }).waitFor()
    await assertFits(page)
    await page.getByRole('button', { name: 'Run checks' }).click()
    await page.getByText(/0 errors, \d warnings?\. Run at/).waitFor()
    await page.getByText(`${service.database.engine} is available`).waitFor()
    await assertFits(page)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Doctor' }).click()
    await page.getByText(/Run at/).waitFor()
  })

  test('the audit log has names, filters in its address, and exports', async () => {
    await open('/system/audit', 'Audit log')
    const created = page.getByRole('row', { name: /key\.created/ })
    await created.getByText('Ada Lovelace').waitFor()
    await created.getByText('shop back end').waitFor()
    await assertFits(page)
    await created.getByRole('button', { name: 'key.created' }).click()
    await page.getByRole('dialog').getByText('shop back end', { exact: false }).first().waitFor()
    await assertFits(page)
    const requestId = page.locator('dt', { hasText: 'Reference ID' }).locator('+ dd')
    const reference = (await requestId.textContent())!.slice(0, 8)
    await page.getByRole('button', { name: 'Filter by action' }).click()
    await page.getByRole('row', { name: /key\.revoked/ }).waitFor({ state: 'detached' })
    await page.waitForURL(/action=key\.created/)
    await page.goBack()
    await page.getByRole('row', { name: /key\.revoked/ }).waitFor()
    await page.getByLabel('Result').selectOption('failed')
    await page.getByRole('row', { name: /key\.refused/ }).waitFor()
    await page.getByRole('row', { name: /key\.revoked/ }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'More filters' }).click()
    await page.getByLabel('Reference ID').fill(reference)
    await page.getByRole('row', { name: /key\.refused/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /key\.created/ }).waitFor()
    await assertFits(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    const chunks: Buffer[] = []
    for await (const chunk of await saved.createReadStream()) chunks.push(chunk as Buffer)
    const csv = Buffer.concat(chunks).toString()
    assert.match(csv, /^at,action,code,/)
    assert.match(csv, /key\.created,.*Ada Lovelace/)
    const href = await page.getByRole('link', { name: 'Export NDJSON' }).getAttribute('href')
    const lines = await (await page.request.get(href!)).text()
    assert.ok(lines.includes('"key.created"'))
  })

  test('alerts: a destination is added, tested, changed, turned off and deleted', async () => {
    await open('/alerts', 'Alerts')
    const add = async (kind: string): Promise<void> => {
      await page.getByRole('button', { name: 'Add destination' }).click()
      await page.getByRole('menuitem', { name: kind }).click()
    }
    await page.getByText('No destinations yet').waitFor()
    await page.getByText('No open alerts.').waitFor()
    await add('Email')
    await page.getByLabel('Name').fill('People on call')
    await page.getByLabel('Email addresses').fill('ops@example.com, boss@example.com')
    await assertFits(page)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('heading', { name: 'People on call' }).waitFor()
    await page.getByRole('button', { name: 'Send test to People on call' }).click()
    await page.getByText('Test alert sent.').waitFor()
    assert.deepEqual(mail.mails.at(-1)?.to, ['ops@example.com', 'boss@example.com'])

    receiver.answer(404)
    await add('Slack')
    await page.getByLabel('Name').fill('#alerts')
    await page.getByLabel('Webhook URL').fill(`${receiver.url}/secret`)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Send test to #alerts' }).click()
    await page.getByText('Test alert failed: it returned HTTP 404').waitFor()
    assert.ok(!(await page.content()).includes('/secret'))
    await assertFits(page)
    await page.getByRole('button', { name: 'More actions for #alerts' }).click()
    await page.getByRole('menuitem', { name: 'Edit…' }).click()
    await page.getByLabel('Errors only, no warnings').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/Errors only\./).waitFor()
    await page.getByRole('button', { name: 'More actions for #alerts' }).click()
    await page.getByRole('menuitem', { name: 'View messages' }).click()
    await page.getByRole('dialog').getByText('it returned HTTP 404').waitFor()
    await page.waitForURL(/destination=/)
    await assertFits(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'More actions for #alerts' }).click()
    await page.getByRole('menuitem', { name: 'Turn off' }).click()
    await page.getByText('off', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'More actions for #alerts' }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await answerDialog(page, 'Delete')
    await page.getByRole('heading', { name: '#alerts' }).waitFor({ state: 'detached' })
  })

  test('no page failed', () => assert.deepEqual(complaints, []))
})
