// Home: what happened, what needs attention, and the first steps, as a person sees them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Durations, Tallies } from '../../src/telemetry/history/tally.ts'
import { HistoryStore, hour, minute } from '../../src/telemetry/history/store.ts'
import { engines, started, startedService, type TestService } from '../harness/index.ts'
import { postWebhook } from '../receiving/harness.ts'
import { assertAccessible, assertFits } from './accessibility.ts'
import { launchBrowser, openPage, signIn } from './browser.ts'

/** Thirty hours in which more and less happened. */
async function fillHistory({ database }: TestService): Promise<void> {
  const store = new HistoryStore(database)
  const now = Math.floor(Date.now() / minute) * minute
  for (let part = 0; part < 30; part += 1) {
    const tallies = new Tallies()
    for (let at = now - (part + 1) * hour; at < now - part * hour; at += minute) {
      const busy = 1 + Math.sin(at / (4 * hour))
      for (const [series, share] of [
        ['webhooks', 1],
        ['handlers', 0.9],
        ['deliveries', 0.6],
        ['sign_ins', 0.05],
      ] as const) {
        const tally = tallies.of(series, at)
        tally.ok = Math.round(60 * busy * share)
        tally.failed = at % (7 * minute) === 0 ? 3 : 0
        const durations = new Durations()
        for (let one = 0; one < 20; one += 1) durations.observe(2 + one ** 2 * busy * share)
        tally.addBuckets(durations.drain()!)
      }
    }
    await store.addMinutes(tallies, () => undefined)
  }
  await store.rollUp(Date.now())
}

describe('the home page', () => {
  const complaints: string[] = []

  const service = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600', ADMIN_IDENTITIES: 'demo:ada' },
    config: {
      receiving: {
        handlers: {
          'order.*': (event) => {
            if (event.type === 'order.broken') throw new Error('not today')
          },
        },
      },
    },
  }))
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    await signIn(page, service, 'Ada Lovelace')
  })

  const steps = () => page.getByRole('listitem').filter({ hasText: /\((done|to do)\)/ })
  const step = (title: string) => steps().filter({ hasText: title })

  test('a fresh installation has steps with commands, ticked off as they happen', async () => {
    await page.getByText('Nothing needs attention.').waitFor()
    await step('Receive a webhook').getByText('(to do)').waitFor()
    const command = page.getByLabel('Command: Receive a webhook', { exact: true })
    assert.equal(await command.innerText(), `npm run postern -- send ${service.baseUrl}/webhooks/provider`)
    await page.getByRole('button', { name: 'Copy command: receive a webhook' }).waitFor()
    await assertAccessible(page)
    await postWebhook(service, { id: 'first', type: 'order.paid' })
    await step('Receive a webhook').getByText('(done)').waitFor()
    await step('Run a handler').getByText('(done)').waitFor()
    await page.getByText('2 of 8 done').waitFor()
  })

  test('the steps can be hidden, and stay so', async () => {
    await page.getByRole('button', { name: 'Hide', exact: true }).click()
    await page.reload()
    await page.getByRole('button', { name: /^Show first steps/ }).click()
    await step('Create an API key').waitFor()
    await page.getByRole('button', { name: 'Hide', exact: true }).click()
  })

  test('what fails is named, and leads to where it can be mended', async () => {
    await fillHistory(service)
    await postWebhook(service, { id: 'broken', type: 'order.broken' })
    const matter = page.getByRole('link', { name: /Handler order\.\* is failing/ })
    await matter.waitFor()
    await page.getByRole('link', { name: /^Open problems 1 / }).waitFor()
    await matter.click()
    await page.waitForURL('**/dashboard/failures?*handler=order.*')
    await page.goBack()
    await matter.waitFor()
  })

  test('the charts follow the time range of the header, and are tables too', async () => {
    await page.goto(`${service.baseUrl}/dashboard?range=24h`)
    const figure = page.getByRole('figure').filter({ hasText: 'Webhooks in: rate' })
    // They are loaded when they come into view.
    await page.keyboard.press('End')
    await figure.locator('canvas').waitFor({ state: 'attached' })
    assert.equal(await page.getByRole('figure').count(), 8)
    const answered = page.waitForResponse(/metrics\/history\?range=6h/)
    await page.getByLabel('Time range').selectOption('6h')
    await answered
    await page.getByText('Last 6 hours in steps of 2 min').waitFor()
    await figure.locator('summary').focus()
    await page.keyboard.press('Enter')
    const rows = figure.getByRole('row')
    await rows.nth(5).waitFor()
    assert.ok((await rows.count()) > 100)
    await figure.locator('summary').click()
    const box = await figure.locator('canvas').boundingBox()
    assert.ok(box && box.width > 300)
  })

  test('it is accessible in both themes, on a telephone too', async () => {
    await page.goto(`${service.baseUrl}/dashboard?range=24h`)
    await page.keyboard.press('End')
    await page.locator('canvas').first().waitFor({ state: 'attached' })
    await assertFits(page)
    assert.deepEqual(complaints, [])
  })

  test('an ordinary user is led to the account', async () => {
    const context = await browser.newContext()
    const other = await context.newPage()
    await signIn(other, service, 'Grace Hopper')
    await other.waitForURL('**/dashboard/account')
    await context.close()
  })
})
