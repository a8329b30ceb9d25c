// Sources, failures, handlers and dry runs, as a person uses them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { stripe } from '../../src/index.ts'
import { each, engines, started, startedService, type TestService } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from '../receiving/harness.ts'
import { assertFits } from './accessibility.ts'
import { answerDialog, launchBrowser, openPage, signIn } from './browser.ts'

async function setUpStock({ database }: TestService): Promise<void> {
  const statements = `create table stock (id text primary key, state text not null);
    insert into stock values ('lamp', 'new')`
  if (database.engine === 'sqlite')
    await database.batch('request', (connection) => connection.exec(statements))
  else await database.pool.query(statements)
}

describe('the inbound pages', () => {
  let isMended = false
  const complaints: string[] = []

  const service = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0' },
    config: {
      receiving: {
        sources: { shop: stripe({ secret: 'whsec_of_the_shop_0123456789' }) },
        handlers: {
          'invoice.paid': (event, { tx }) => writeEffect(tx, event.id),
          'order.*': async (event, { tx, emit, log }) => {
            await writeEffect(tx, event.id)
            await sql`update stock set state = 'sold' where id = 'lamp'`.execute(tx)
            log.info('the order is stored')
            emit({ type: 'order.told', data: { of: event.id } })
            if (!isMended) throw new RangeError(`order ${event.id} has no customer`)
          },
        },
      },
    },
  }))
  const browser = started(launchBrowser)
  const page = started(() => openPage(browser, complaints))
  before(async () => {
    await createEffects(service.database)
    await setUpStock(service)
    await signIn(page, service, 'Ada Lovelace')
    for (const id of ['o-1', 'o-2', 'o-3']) await postWebhook(service, { id, type: 'order.paid' })
    await postWebhook(service, { id: 'o-4', type: 'order.paid' }, { 'x-signature': 'ab'.repeat(32) })
  })

  const open = (path: string): Promise<unknown> => page.goto(`${service.baseUrl}/dashboard${path}`)

  test('a source shows its URL and steps, and takes a signed sample that arrives', async () => {
    await open('/sources')
    await page.getByRole('link', { name: 'shop' }).waitFor()
    await assertFits(page)
    await page.getByRole('link', { name: 'shop' }).click()
    await page.getByText(`${service.baseUrl}/webhooks/shop`).waitFor()
    await page.getByText(/Reveal the signing secret/).waitFor()
    await assertFits(page)
    await page.getByRole('tab', { name: 'Send sample' }).click()
    await page.getByRole('button', { name: 'Send sample' }).click()
    await page.getByText(/Stored as event/).waitFor()
    await assertFits(page)
    await page.getByRole('tab', { name: 'Events' }).click()
    await page.getByRole('cell', { name: 'invoice.paid' }).first().waitFor()
    await page.getByText('processed').first().waitFor()
    await assertFits(page)
    await page.goBack()
    await page.getByRole('button', { name: 'Send sample' }).waitFor()
  })

  test('a refused webhook has its reason in words', async () => {
    await eventually(async () => {
      const found = (await (await service.admin('/sources/provider')).json()) as { day: { refused: number } }
      return found.day.refused === 1
    })
    await open('/sources/provider?tab=refused')
    await page.getByText(/1 × The signature does not match the body/).waitFor()
    await page
      .getByText(/The signature does not match the body/)
      .last()
      .click()
    await assertFits(page)
  })

  test('a failing handler is one group, with its error once', async () => {
    await eventually(async () => {
      const { data } = (await (await service.admin('/failures')).json()) as { data: { count: number }[] }
      return data[0]?.count === 3
    })
    await open('/failures')
    await page.getByRole('link', { name: /RangeError: order … has no customer/ }).waitFor()
    await assertFits(page)
    await page.getByRole('link', { name: /RangeError/ }).click()
    await page.getByText('3 failed', { exact: true }).waitFor()
    await page
      .getByRole('list', { name: 'Frames of your code' })
      .getByText(/inbound\.test\.ts/)
      .first()
      .waitFor()
    await assertFits(page)
  })

  test('a dry run shows what the handler would write, and why it fails', async () => {
    await page.getByRole('button', { name: 'Dry run' }).click()
    const result = page.getByRole('region', { name: 'Result of the dry run' })
    await result.getByText('failed', { exact: true }).waitFor()
    await result.getByRole('rowheader', { name: /updated.*id lamp/ }).waitFor()
    await result.getByText('− new').waitFor()
    await result.getByText('+ sold').waitFor()
    await result.getByText('info the order is stored').waitFor()
    await result
      .getByText(/has no customer/)
      .first()
      .waitFor()
    await assertFits(page)
    const { rows } = await sql<{ state: string }>`select state from stock`.execute(service.database.reader)
    assert.deepEqual(each(rows, 'state'), ['new'])
  })

  test('its events run again as one, and none is left', async () => {
    isMended = true
    await page.getByRole('button', { name: 'Run all again' }).click()
    await answerDialog(page, 'Run again')
    await page.getByText('3 of 3 events queued to run again.').waitFor()
    await page.getByText('No event has failed or will be retried').waitFor()
    await eventually(async () => {
      const done = await readEffects(service.database)
      return ['o-1', 'o-2', 'o-3'].every((id) => done.includes(id))
    })
    await assertFits(page)
  })

  test('a handler is paused and resumed', async () => {
    await open('/handlers')
    await page.getByRole('button', { name: 'Pause order.*' }).waitFor()
    await assertFits(page)
    await page.getByRole('button', { name: 'Pause order.*' }).click()
    await page.getByText('order.* is paused').waitFor()
    await page.getByRole('button', { name: 'Resume order.*' }).waitFor()
    await postWebhook(service, { id: 'o-5', type: 'order.paid' })
    await page
      .getByRole('row', { name: /order\.\*/ })
      .getByRole('cell', { name: '1', exact: true })
      .first()
      .waitFor()
    await assertFits(page)
    await page.getByRole('button', { name: 'Resume order.*' }).click()
    await page.getByRole('button', { name: 'Pause order.*' }).waitFor()
    await eventually(async () => (await readEffects(service.database)).includes('o-5'))
  })

  test('the browser had nothing to complain of', () => assert.deepEqual(complaints, []))
})
