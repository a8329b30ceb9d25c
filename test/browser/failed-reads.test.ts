// A page polls, or reads again when its tab is looked at. One such read that fails must not take away what a person has on the page.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { engines, started, startedService } from '../harness/index.ts'
import { spa } from '../login/harness.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { launchBrowser, signIn } from './browser.ts'
import { failReads } from './failed-reads.ts'

describe('a read in the background that fails', () => {
  const service = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0' },
    config: {
      login: { clients: [spa] },
      receiving: {
        handlers: {
          'order.*': () => {
            throw new Error('the warehouse is closed')
          },
        },
      },
    },
  }))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage())
  before(() => signIn(page, service, 'Ada Lovelace'))

  const firstId = (path: string): Promise<string> =>
    eventually(async () => {
      const { data } = (await (await service.admin(path)).json()) as { data: { id: string | number }[] }
      return data[0] && String(data[0].id)
    })

  /** Opens a page of the dashboard, lets reads of `call` fail, and expects the content and the problem together. */
  async function staysUsable(path: string, call: string, content: string): Promise<void> {
    await page.goto(`${service.baseUrl}/dashboard${path}`)
    await page.getByText(content).first().waitFor()
    await failReads(page, call)
    assert.ok(await page.getByText(content).first().isVisible(), `${path} shows what was read before`)
    await page.unrouteAll()
  }

  test('leaves an app as it is', () => staysUsable(`/apps/${spa.id}`, `/clients/${spa.id}`, 'Client ID'))

  test('leaves a user as it is', async () => {
    const id = await firstId('/users')
    await staysUsable(`/users/${id}`, `/users/${id}`, 'First identity')
  })

  test('leaves a source as it is', () => staysUsable('/sources/provider', '/sources/provider', 'Webhook URL'))

  test('leaves a failure as it is', async () => {
    assert.equal((await postWebhook(service, { id: 'o-1', type: 'order.paid' })).status, 200)
    const id = await firstId('/failures')
    await staysUsable(`/failures/${id}`, `/failures/${id}`, 'Failed attempts per hour')
  })

  test('of a list that was never read, no page says that it is empty', async () => {
    for (const path of ['subscribers', 'sources', 'handlers', 'system/keys', 'system/jobs', 'users']) {
      const call = path.replace('system', '')
      const body = JSON.stringify({
        code: 'not-now',
        title: 'Not now',
        status: 409,
        detail: 'The read failed.',
      })
      await page.route(
        ({ pathname }) => pathname === (call.startsWith('/') ? call : `/${call}`),
        (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', body }),
      )
      await page.goto(`${service.baseUrl}/dashboard/${path}`)
      await page.getByText('The read failed.').waitFor()
      assert.equal(await page.getByText(/^No .+ yet$|There is no|^No handlers$/).count(), 0, path)
      await page.unrouteAll()
    }
  })
})
