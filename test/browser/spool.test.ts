import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { engines, started, startedService } from '../harness/index.ts'
import { postWebhook } from '../receiving/harness.ts'
import { launchBrowser, signIn } from './browser.ts'

const sqlite = engines.find(({ name }) => name === 'sqlite')

describe(
  'the dashboard while the database is away',
  { skip: !sqlite && 'TEST_ENGINE leaves SQLite out' },
  () => {
    const home = started(() => sqlite!.createDatabase())
    const service = startedService(sqlite!, () => ({
      databaseUrl: home.url,
      env: { SPOOL_URL: `file:${home.url.slice('sqlite:'.length)}-away` },
    }))
    const browser = started(launchBrowser)
    const page = started(() => browser.newPage({ viewport: { width: 1100, height: 800 } }))
    before(async () => {
      await signIn(page, service, 'Ada Lovelace')
    })

    test('tells how many webhooks lie in the spool, until they are in the database', async () => {
      const file = home.url.slice('sqlite:'.length)
      const notice = page.getByRole('main')
      renameSync(file, `${file}.moved`)
      for (const id of ['one', 'two'])
        assert.equal((await postWebhook(service, { id, type: 'order.paid' })).status, 200)
      await notice.getByText('The database is unavailable').waitFor()
      await notice.getByText('2 acknowledged webhooks are waiting in the spool').waitFor()
      renameSync(`${file}.moved`, file)
      await notice.getByText('acknowledged').waitFor({ state: 'detached' })
    })
  },
)
