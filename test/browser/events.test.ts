// Inbound → Events: the list, the search of bodies, an event's page, and ⌘K, as a person uses them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { engines, started, startedService, startTestService, type TestService } from '../harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { assertAccessible, assertFits } from './accessibility.ts'
import { answerDialog, launchBrowser, signIn } from './browser.ts'

describe('the pages of events', () => {
  let works = false

  const service = startedService(engines[0]!, () => ({
    env: {
      HANDLER_RETRY_SCHEDULE: '0,0,3600',
      EMIT_RETRY_SCHEDULE: '0,3600',
      ALLOW_PRIVATE_NETWORK: 'true',
    },
    config: {
      receiving: {
        handlers: {
          'order.*': (event, { emit }) => {
            if (!works) throw new Error(`the warehouse does not know ${event.id}`)
            emit({ type: 'shop.told', data: { order: event.id } })
          },
        },
      },
    },
  }))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(async () => {
    // Nothing listens there.
    const json = { url: 'http://127.0.0.1:9/hook', eventTypes: ['shop.*'], description: 'The warehouse' }
    await service.admin('/subscribers', { method: 'POST', json })
    await signIn(page, service, 'Ada Lovelace')
  })

  const open = async (path: string): Promise<void> => {
    await page.goto(`${service.baseUrl}/dashboard${path}`)
    await page.locator('h1').waitFor()
  }
  const post = async (id: string, type = 'order.paid', data: object = {}): Promise<void> => {
    assert.equal((await postWebhook(service, { id, type, data })).status, 200)
  }
  const statusOf = async (id: string, status: string): Promise<number> =>
    eventually(async () => {
      const answer = await service.admin(`/events?eventId=${id}&status=${status}`)
      return ((await answer.json()) as { data: { id: number }[] }).data[0]?.id
    })
  test('an empty list says how events come', async () => {
    await open('/events')
    await page.getByText('No events in this time range').waitFor()
    await assertAccessible(page)
  })

  test('new events appear by themselves, and change in place', async () => {
    await post('live-1')
    const row = page.getByRole('row').filter({ hasText: 'live-1' })
    await row.getByText('retrying').waitFor()
    // Something of the list has the focus: nothing may move.
    await row.getByRole('checkbox').check()
    await row.evaluate((element) =>
      (element as unknown as { setAttribute: (name: string, value: string) => void }).setAttribute(
        'data-seen',
        '',
      ),
    )
    await post('live-2')
    await page.getByRole('button', { name: '1 new event' }).waitFor()
    assert.equal(await page.getByRole('row').filter({ hasText: 'live-2' }).count(), 0)
    await page.getByRole('button', { name: '1 new event' }).click()
    await page.getByRole('row').filter({ hasText: 'live-2' }).waitFor()
    assert.ok(await row.getByRole('checkbox').isChecked())
    assert.equal(await row.getAttribute('data-seen'), '', 'the row is the same element')
    await row.getByRole('checkbox').uncheck()
    await assertAccessible(page)
  })

  test('why a handler failed, and run it now, from Home', async () => {
    const id = await statusOf('live-1', 'retrying')
    await open('/')
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: 'Events', exact: true })
      .click()
    await page
      .getByRole('row')
      .filter({ hasText: 'live-1' })
      .getByRole('link', { name: 'order.paid' })
      .click()
    await page.waitForURL(`**/dashboard/events/${id}*`)
    await page.getByText('the warehouse does not know live-1').first().waitFor()
    await assertAccessible(page)
    works = true
    await page.getByRole('button', { name: 'Run now' }).click()
    // The page changes by itself.
    await page.locator('h1').getByText('processed').waitFor()
  })

  test('an event’s page shows its whole way on one axis, and texts to copy', async () => {
    const id = await statusOf('live-1', 'processed')
    await eventually(async () => {
      const answer = await service.admin(`/events/${id}`)
      const { emittedDeliveries } = (await answer.json()) as { emittedDeliveries: { attemptLog: object[] }[] }
      return emittedDeliveries[0]?.attemptLog.length
    })
    await open(`/events/${id}`)
    const way = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Timeline' }) })
    const lanes = await way.getByRole('listitem').allInnerTexts()
    assert.match(lanes.join('\n'), /Verified, stored[^]*Handler[^]*shop\.told[^]*The warehouse/)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as test' }).click()
    await eventually(async () =>
      (await page.evaluate<string>('navigator.clipboard.readText()')).includes("from 'postern/testing'"),
    )
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await eventually(async () =>
      (await page.evaluate<string>('navigator.clipboard.readText()')).includes('/webhooks/provider'),
    )
    await assertFits(page)
  })

  test('of an event that no handler takes, the page says so', async () => {
    await post('evt_untaken', 'untaken.type')
    await open(`/events/${await statusOf('evt_untaken', 'unhandled')}`)
    await page.locator('h1').getByText('no handler').waitFor()
    await page.getByText('no handler for this type').first().waitFor()
    const advice = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'No handler for this type' }) })
    await advice.getByText('order.*', { exact: true }).waitFor()
    await advice.getByText('"untaken.type": async').waitFor()
    await assertAccessible(page)
    assert.equal(await page.getByText(/attempt \d+ succeeded/).count(), 0)
  })

  test('an event that is not there is explained', async () => {
    await open('/events/999999')
    await page.getByRole('heading', { name: 'Event not found' }).waitFor()
    await assertAccessible(page)
    await page.getByRole('link', { name: 'All events' }).click()
    await page.waitForURL('**/dashboard/events*')
  })

  test('filters are in the address, and going back takes them off', async () => {
    await post('plain-1', 'invoice.paid', { customer: 'cus_77' })
    await open('/events')
    await page.getByLabel('Status').selectOption('unhandled')
    await page.waitForURL('**status=unhandled*')
    await page.getByLabel('Type', { exact: true }).fill('invoice.*')
    await page.keyboard.press('Enter')
    await page.waitForURL('**type=invoice.*')
    await page.getByRole('row').filter({ hasText: 'evt_untaken' }).waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'plain-1' }).waitFor()
    await page.goBack()
    await page.getByRole('row').filter({ hasText: 'evt_untaken' }).waitFor()
    await page.getByRole('button', { name: 'Preview evt_untaken' }).click()
    await page.waitForURL('**peek=*')
    await page.getByRole('dialog').getByText('evt_untaken').first().waitFor()
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('bodies are searched by text and by field, with what was found', async () => {
    await open('/events')
    await page.getByRole('button', { name: 'More filters' }).click()
    await page.getByLabel('Body field').fill('data.customer')
    await page.getByLabel('Field value').fill('cus_77')
    await page.keyboard.press('Enter')
    await page.getByRole('row').filter({ hasText: 'data.customer: cus_77' }).waitFor()
    await page.getByText(/1 found in [\d,]+ events/).waitFor()
    await assertAccessible(page)
  })

  test('a search with other filters replaces one that runs, and can be stopped', async () => {
    const released = Promise.withResolvers<void>()
    const isSearch = ({ pathname }: URL): boolean => pathname.endsWith('/events/search')
    await page.route(isSearch, () => released.promise)
    await open('/events')
    await page.getByRole('button', { name: 'More filters' }).click()
    await page.getByLabel('Body field').fill('data.customer')
    const search = (value: string) => {
      const sent = page.waitForRequest((request) => {
        const url = new URL(request.url())
        return isSearch(url) && url.search.includes(value)
      })
      return Promise.all([
        sent,
        page
          .getByLabel('Field value')
          .fill(value)
          .then(() => page.keyboard.press('Enter')),
      ])
    }
    await search('cus_1')
    const [second] = await search('cus_77')
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    assert.equal(await page.getByText('The search was stopped.').count(), 0)
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('The search was stopped.').waitFor()
    await eventually(() => second.failure(), 'the search is given up')
    released.resolve()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  test('the selected events are run, and a whole filter as a job', async () => {
    works = false
    for (const id of ['again-1', 'again-2', 'again-3']) await post(id)
    for (const id of ['again-1', 'again-2', 'again-3']) await statusOf(id, 'retrying')
    await open('/events?status=retrying&direction=emitted')
    await page.getByRole('row').filter({ hasText: 'shop.told' }).getByText('retrying').first().waitFor()
    // Handlers run for received events only.
    assert.equal(await page.getByRole('button', { name: 'Run all that match' }).count(), 0)
    await open('/events?status=retrying')
    await page.getByRole('row').filter({ hasText: 'again-1' }).getByRole('checkbox').check()
    await page.getByRole('row').filter({ hasText: 'again-2' }).getByRole('checkbox').check()
    works = true
    await page.getByRole('button', { name: 'Run now' }).click()
    await answerDialog(page, 'Run now')
    await statusOf('again-1', 'processed')
    await statusOf('again-2', 'processed')
    await page.getByRole('button', { name: 'Run all that match' }).click()
    await answerDialog(page, 'Run all')
    await statusOf('again-3', 'processed')
  })

  test('⌘K finds an event, a person and a page by the keyboard alone, and keeps the recent ones', async () => {
    await open('/account')
    const find = async (text: string, found: RegExp): Promise<void> => {
      // The search of the step before may still be closing.
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /Page, ID/ }).waitFor()
      // Without the focus, the first keys would be lost.
      await page.locator('[role=combobox]:focus').waitFor()
      await page.keyboard.type(text)
      await page.getByRole('option', { name: found }).first().waitFor()
    }
    await find('live-1', /live-1/)
    await assertAccessible(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/dashboard\/events\/\d+/)
    await find('ada@', /ada@/)
    await page.keyboard.press('Escape')
    await find('Audit', /Audit log/)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/system/audit*')
    await page.keyboard.press('Control+k')
    await page.getByRole('group', { name: 'Recent' }).getByRole('option', { name: 'Audit log' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/dashboard\/events\/\d+/)
  })

  test('of 2,000 rows only those in view are in the page, which keeps its height as they come into view', async () => {
    await insertMany(service, 2_000)
    await open('/events')
    const table = page.getByRole('table', { name: 'Events' })
    await table.waitFor()
    const isRead = async (): Promise<boolean> => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      return Number(await table.getAttribute('aria-rowcount')) > 2_000
    }
    await eventually(isRead, 'all rows are read', 90_000)
    const height = (): Promise<number> => page.evaluate<number>('document.body.scrollHeight')
    await page.evaluate('scrollTo(0, 0)')
    await restingScroll(page)
    const before = await height()
    await scrollThrough(page)
    const grown = (await height()) - before
    assert.ok(Math.abs(grown) < 100, `the rows are ${grown} pixels higher than was expected`)
    assert.ok((await table.getByRole('row').count()) < 200, 'only the rows in view are in the page')
    // New events wait while the person reads further down.
    await page.evaluate('scrollTo(0, 20_000)')
    const top = await restingScroll(page)
    assert.ok(Math.abs(top - 20_000) < 200, `scrolled to ${top}`)
    await post('late-1')
    await page.getByRole('button', { name: /new event/ }).waitFor()
    assert.equal(await page.evaluate<number>('scrollY'), top)
  })

  test('a lost connection is told, and found again', async () => {
    await open('/events')
    await page.getByRole('row').nth(1).waitFor()
    const port = new URL(service.baseUrl).port
    const { databaseUrl } = service
    await service.stop()
    await page.getByText('Connection lost').waitFor()
    const again = await startTestService(engines[0]!, { databaseUrl, env: { PORT: port } })
    await page.getByText('Connection lost').waitFor({ state: 'detached' })
    await again.stop()
  })
})

/** Returns where the page rests: the heights of rows are measured as they come into view, which moves it a little. */
async function restingScroll(page: Page): Promise<number> {
  let before = NaN
  const rest = await eventually(async () => {
    const now = await page.evaluate<number>('new Promise((done) => setTimeout(() => done(scrollY), 100))')
    if (now !== before) before = now
    else return { now }
    return undefined
  }, 'the page rests')
  return rest.now
}

/** Scrolls through the page, a step in each of fifty frames. */
function scrollThrough(page: Page): Promise<void> {
  return page.evaluate(`new Promise((resolve) => {
    let frames = 0
    const step = () => {
      scrollBy(0, 150)
      if ((frames += 1) < 50) requestAnimationFrame(step)
      else resolve()
    }
    requestAnimationFrame(step)
  })`)
}

async function insertMany({ database }: TestService, many: number): Promise<void> {
  const now = Date.now() - 60_000
  const isSqlite = database.engine === 'sqlite'
  const numbers = isSqlite
    ? `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${many}) `
    : ''
  const from = isSqlite ? 'n' : `generate_series(1, ${many}) as i`
  const payload = isSqlite ? "x'7b7d'" : "convert_to('{}', 'UTF8')"
  const statements = [
    `insert into events (event_id, direction, source, type, content_type, payload, created_at)
     ${numbers}select 'many-' || i, 'received', 'provider', 'stock.counted', 'application/json', ${payload}, ${now} + i from ${from}`,
    `insert into event_queue (event, source, event_id, type, status, due_at, processed_at)
     select id, source, event_id, type, 'processed', created_at, created_at from events where type = 'stock.counted'`,
  ]
  for (const statement of statements)
    if (isSqlite) await database.batch('request', (connection) => connection.exec(statement))
    else await database.pool.query(statement)
}
