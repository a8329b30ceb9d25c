// A damaged spool beside SQLite: no webhook is stored, since it could overtake those in it, and operators are told where to look.
import assert from 'node:assert/strict'
import { closeSync, existsSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { checkSpool } from '../../src/diagnostics/spool.ts'
import { SpoolFile } from '../../src/receiving/sqlite/spool-file.ts'
import { backUpSqlite } from '../../src/storage/sqlite/backup.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onSqlite, sqlite as engine, type TestDatabase } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { eventually, postWebhook } from './harness.ts'
import { incomingEvent } from './incoming-event.ts'

/** Damages a page behind the first one, which an open of the file does not read. */
function damagePages(file: string): void {
  const spool = new SpoolFile(file, { create: true })
  const payload = new Uint8Array(3_000)
  spool.add(Array.from({ length: 20 }, (_, index) => incomingEvent(`evt_${index}`, { payload })))
  spool.close()
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(16_384, 0xff), 0, 16_384, 12_288)
  closeSync(handle)
}

describe('a damaged spool beside SQLite', onSqlite, () => {
  let database: TestDatabase
  let service: TestService
  let file: string
  let log = ''

  before(async () => {
    database = await engine!.createMigratedDatabase()
    file = `${database.url.slice('sqlite:'.length)}-spool`
    writeFileSync(file, Buffer.alloc(20_000, 'no database'))
    service = await startTestService(engine!, {
      databaseUrl: database.url,
      parts: { log: createLog('info', { write: (line) => void (log += line) }) },
    })
  })
  after(async () => {
    await service.close()
    await database.drop()
  })

  test('webhooks get 503, and the log names the file', async () => {
    const { status, headers } = await postWebhook(service, { id: 'evt_refused', type: 'a' })
    assert.equal(status, 503)
    assert.ok(headers.has('retry-after'))
    await eventually(() => log.includes(`the spool ${file} cannot be used`))
  })

  test('/readyz is 503 in both forms, and says which part it is', async () => {
    for (const path of ['/readyz', '/readyz?for=webhooks']) {
      const answer = await service.fetch(path)
      assert.equal(answer.status, 503, path)
      const body = (await answer.json()) as { status: string; database: string; spool: unknown }
      assert.deepEqual([body.status, body.database], ['unavailable', 'ok'])
      assert.deepEqual(body.spool, { status: 'unavailable' })
    }
  })

  test('what needs attention names it, and so does the doctor, with the repair', async () => {
    const { data } = (await (await service.admin('/attention')).json()) as {
      data: { kind: string; text: string }[]
    }
    const spool = data.find(({ kind }) => kind === 'spool-unavailable')
    assert.match(
      spool?.text ?? '',
      /^The spool \S+-spool cannot be used, [^:]+: file is not a database\. Run postern doctor/,
    )
    const [found] = await checkSpool({ databaseUrl: database.url })
    assert.equal(found?.state, 'fault')
    assert.ok(found.about.includes(file))
    assert.match(found.advice ?? '', /runbooks/)
  })

  test('a backup names the spool instead of the database', async () => {
    const copy = `${file}.copy`
    await assert.rejects(backUpSqlite(file.slice(0, -'-spool'.length), copy), (error: Error) =>
      error.message.includes(`the spool ${file} cannot be copied`),
    )
    assert.ok(!existsSync(copy))
  })

  test('after the repair, webhooks are stored without a restart', async () => {
    renameSync(file, `${file}.damaged`)
    assert.equal((await postWebhook(service, { id: 'evt_stored', type: 'a' })).status, 200)
    assert.equal((await service.fetch('/readyz?for=webhooks')).status, 200)
  })
})

test('the doctor finds damaged pages of a spool', onSqlite, async () => {
  await using database = await engine!.createMigratedDatabase()
  damagePages(`${database.url.slice('sqlite:'.length)}-spool`)
  const [found] = await checkSpool({ databaseUrl: database.url })
  assert.equal(found?.state, 'fault')
})
