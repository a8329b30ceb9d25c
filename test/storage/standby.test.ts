// A service does not run on a standby, because its data may be old.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postern } from '../cli/command.ts'
import { type Link, onPostgres, openLink, postgres, startTestService } from '../harness/index.ts'
import { checkStandby } from '../../src/diagnostics/database.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { startOwnPostgres, type OwnPostgres } from '../harness/postgres.ts'
import { startStandby, type Standby } from '../harness/standby.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

describe('on a standby', onPostgres, () => {
  let primary: OwnPostgres
  let standby: Standby
  let link: Link
  before(async () => {
    primary = await startOwnPostgres()
    const service = await startTestService(postgres!, { databaseUrl: primary.url })
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    await service.close()
    standby = await startStandby(primary.url)
    await standby.caughtUp()
    link = await openLink(primary.url)
  })
  after(async () => {
    link?.close()
    await standby?.stop()
    await primary?.stop()
  })

  test('the start fails with one line', async () => {
    const folder = temporaryFolder()
    for (const args of [['serve'], ['migrate']]) {
      const ended = await postern(folder, args, { DATABASE_URL: standby.url, PORT: '0' })
      assert.equal(ended.code, 1, args.join(' '))
      const lines = ended.stderr.trim().split('\n')
      assert.equal(lines.length, 1, ended.stderr)
      assert.match(lines[0]!, /cannot be used: .*(standby|read-only).*Name the primary/)
    }
    const parts = { migrate: false, roles: { http: true, workers: false } }
    const served = startTestService(postgres!, { databaseUrl: standby.url, parts })
    await assert.rejects(served, /the server is a standby/)
  })

  test('doctor tells whether lists can be read at DATABASE_REPLICA_URL', async () => {
    const env = { DATABASE_URL: primary.url, DATABASE_REPLICA_URL: standby.url }
    const { stdout } = await postern(temporaryFolder(), ['doctor'], env)
    assert.match(stdout, /✔ standby: lists are read from it/)
    const found = async (url: string): Promise<string> => {
      const [finding] = await checkStandby({ databaseReplicaUrl: url })
      return `${finding?.state}: ${finding?.text}`
    }
    const { host } = new URL(standby.url)
    assert.equal(await found(standby.url.replace(host, `${host},${host}`)), 'ok: lists are read from it')
    assert.match(await found(primary.url), /^warning: .*not a standby/)
    const other = new URL(standby.url)
    other.pathname = '/template1'
    assert.match(await found(other.href), /^fault: it has no table continuity/)
    assert.match(await found('postgres://127.0.0.1:1/none'), /^fault: .*cannot be used.*ECONNREFUSED/)
  })

  test('a service whose address begins to lead to a standby does not use its data', async () => {
    await using service = await startTestService(postgres!, { databaseUrl: link.url })
    const paths = ['/events', '/events/1', '/users', '/products', '/subscribers', '/readyz']
    const statuses = (): Promise<number[]> =>
      Promise.all(paths.map(async (path) => (await service.admin(path)).status))
    assert.deepEqual(
      await statuses(),
      paths.map(() => 200),
    )
    link.lead(standby.url)
    link.cut()
    link.mend()
    for (let round = 0; round < 20; round += 1)
      assert.deepEqual(
        await statuses(),
        paths.map(() => 503),
      )
    assert.equal((await postWebhook(service, { id: 'meanwhile', type: 'work' })).status, 503)
    link.lead(primary.url)
    await eventually(async () => (await statuses()).every((status) => status === 200), 'answered again')
    assert.equal((await postWebhook(service, { id: 'after', type: 'work' })).status, 200)
  })
})
