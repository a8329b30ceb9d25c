import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { dumpable } from '../harness/dumpable-postgres.ts'
import { asAdmin, onPostgres, onSqlite, postgres, scoped, sqlite, temporaryFolder } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { startOwnPostgres } from '../harness/postgres.ts'
import { startStandby } from '../harness/standby.ts'
import { startTransactionPooler } from '../harness/transaction-pooler.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { postern } from './command.ts'

const root = temporaryFolder()

const settings = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
})

/** Sends webhooks one after the other until `stop`, and notes which were acknowledged. */
function sendAll(service: TestService): { acknowledged: string[]; stop: () => Promise<void> } {
  const acknowledged: string[] = []
  let stopped = false
  const sending = (async () => {
    for (let number = 0; !stopped; number += 1) {
      const id = `evt_${number}`
      const { status } = await postWebhook(service, { id, type: 'backup.test' })
      if (status === 200) acknowledged.push(id)
    }
  })()
  return {
    acknowledged,
    async stop() {
      stopped = true
      await sending
    },
  }
}

async function eventIds(service: TestService): Promise<Set<string>> {
  const rows = await service.database.reader.selectFrom('events').select('event_id').execute()
  return new Set(rows.map(({ event_id }) => event_id))
}

describe('backup and restore (sqlite)', () => {
  const engine = sqlite!

  test('a backup under load has all that was acknowledged before it', onSqlite, async () => {
    const service = await startTestService(engine)
    const file = join(root, 'loaded.backup')
    const sender = sendAll(service)
    try {
      await eventually(async () => sender.acknowledged.length >= 20, '20 webhooks are acknowledged')
      const before = [...sender.acknowledged]
      const made = await postern(root, ['backup', file], settings(service.databaseUrl))
      assert.equal(made.code, 0, made.stderr)
      assert.match(made.stdout, /loaded\.backup is complete\. Store POSTERN_SECRET in another place/)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.ok(!existsSync(`${file}.partial`))

      const databaseUrl = `sqlite:${join(root, 'restored/postern.db')}`
      const restored = await postern(root, ['restore', file], settings(databaseUrl))
      assert.equal(restored.code, 0, restored.stderr)
      assert.equal(statSync(join(root, 'restored/postern.db')).mode & 0o777, 0o600)
      await using other = await startTestService(engine, { databaseUrl })
      const found = await eventIds(other)
      for (const id of before) assert.ok(found.has(id), id)
      // It serves as before: a known event is a duplicate.
      assert.equal((await postWebhook(other, { id: before[0], type: 'backup.test' })).status, 200)
      assert.equal((await eventIds(other)).size, found.size)
    } finally {
      await sender.stop()
      await service.close()
    }
  })

  test('events that lie in the spool are in the backup', onSqlite, async () => {
    const folder = join(root, 'spooled')
    mkdirSync(folder)
    const databaseUrl = `sqlite:${join(folder, 'postern.db')}`
    const service = await startTestService(engine, { databaseUrl })
    // Another program holds the lock for writing: the webhook is acknowledged from the spool.
    const holder = new DatabaseSync(join(folder, 'postern.db'))
    holder.exec('begin immediate')
    try {
      assert.equal((await postWebhook(service, { id: 'evt_spooled', type: 'backup.test' })).status, 200)
      const made = await postern(root, ['backup', join(root, 'spooled.backup')], settings(databaseUrl))
      assert.equal(made.code, 0, made.stderr)
      assert.ok(!(await eventIds(service)).has('evt_spooled'), 'it was in the spool alone')
    } finally {
      holder.exec('rollback')
      holder.close()
      await service.close()
    }
    const restoredUrl = `sqlite:${join(root, 'unspooled/postern.db')}`
    assert.equal(
      (await postern(root, ['restore', join(root, 'spooled.backup')], settings(restoredUrl))).code,
      0,
    )
    await using restored = await startTestService(engine, { databaseUrl: restoredUrl })
    await eventually(async () => (await eventIds(restored)).has('evt_spooled'), 'it is moved from the spool')
  })

  test('nothing is overwritten, and what is no backup is refused', async () => {
    const file = join(root, 'file')
    writeFileSync(file, 'text')
    const databaseUrl = `sqlite:${join(root, 'other/postern.db')}`
    const over = await postern(root, ['backup', file], settings(databaseUrl))
    assert.match(over.stderr, /file exists: name a new file/)
    const missing = await postern(root, ['backup', join(root, 'new')], settings(databaseUrl))
    assert.match(missing.stderr, /there is no database at/)
    const text = await postern(root, ['restore', file], settings(databaseUrl))
    assert.notEqual(text.code, 0)
    assert.match(text.stderr, /is not a backup of Postern, or is damaged: .*\n$/)
    assert.doesNotMatch(text.stderr, /\n +at /)
    assert.ok(!existsSync(join(root, 'other/postern.db')))
    const existing = await postern(root, ['restore', file], settings(`sqlite:${file}`))
    assert.match(existing.stderr, /exists: stop the service, and move the files of this database away/)
    // SQLite would apply these to the restored file.
    const left = ['-wal', '-shm', '-journal', '-spool-wal', '-spool-journal', '-spool-shm'].map(
      (end) => `${file}-left${end}`,
    )
    for (const one of left) writeFileSync(one, '')
    const among = await postern(root, ['restore', file], settings(`sqlite:${file}-left`))
    assert.equal(among.code, 1)
    for (const one of left) assert.ok(among.stderr.includes(one), among.stderr)
    assert.match(among.stderr, / exist: stop the service, and move the files of this database away/)
  })
})

describe('backup and restore (postgres)', () => {
  const engine = postgres

  test('without pg_dump the message says what to install', onPostgres, async () => {
    await using home = await engine!.createDatabase()
    const made = await postern(root, ['backup', join(root, 'dump')], {
      ...settings(home.url),
      PATH: '/nothing',
    })
    assert.equal(made.code, 1)
    assert.match(made.stderr, /^pg_dump is not on this machine: install the client programs of PostgreSQL/)
  })

  /** A folder with a `pg_dump` that writes its password and its arguments into the dump. */
  function programs(): string {
    const folder = join(root, 'programs')
    mkdirSync(folder, { recursive: true })
    const script =
      '#!/bin/sh\numask 022\nfor a; do case $a in --file=*) ' +
      'echo "$PGPASSWORD" "$@" > "${a#--file=}" ;; esac; done\n'
    writeFileSync(join(folder, 'pg_dump'), script, { mode: 0o755 })
    return folder
  }
  async function dumpedWith(databaseUrl: string, more: Record<string, string> = {}): Promise<string> {
    const file = join(mkdtempSync(join(root, 'dumped-')), 'dump')
    const made = await postern(root, ['backup', file], {
      ...settings(databaseUrl),
      PATH: programs(),
      ...more,
    })
    assert.equal(made.code, 0, made.stderr)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    return readFileSync(file, 'utf8')
  }

  test('a dump is for its owner only, and no argument holds the password', onPostgres, async () => {
    await using home = await engine!.createDatabase()
    const [, user, place] = /^postgres:\/\/([^:@]*)[^@]*@(.*)$/.exec(home.url)!
    for (const url of [
      `postgres://${user}:hu@sh@${place}`,
      `postgres://${user}@${place}?password=hu@sh`,
      `postgres://${user}:hu%40sh@${place}`,
    ]) {
      const [password, address] = (await dumpedWith(url)).split(' ')
      assert.deepEqual([password, address], ['hu@sh', `--dbname=postgres://${user}@${place}`])
    }
  })

  test('pg_dump never gets a session that the service shares', onPostgres, async () => {
    await using home = await engine!.createDatabase()
    await using other = await engine!.createDatabase()
    await using pooler = scoped(await startTransactionPooler(home.url))
    const toPooler = { ...settings(pooler.url), PATH: programs() }
    assert.match(
      await dumpedWith(pooler.url, { DATABASE_SESSION_URL: home.url }),
      new RegExp(` --dbname=${home.url} `),
    )
    for (const [sessionUrl, refusal] of [
      ['', /^DATABASE_URL leads to a connection pooler .*DATABASE_SESSION_URL/],
      [other.url, /^DATABASE_SESSION_URL leads to another database/],
    ] as const) {
      const env = { ...toPooler, DATABASE_SESSION_URL: sessionUrl }
      const made = await postern(root, ['backup', join(root, 'pooled.dump')], env)
      assert.deepEqual([made.code, existsSync(join(root, 'pooled.dump'))], [1, false])
      assert.match(made.stderr, refusal)
      const restored = await postern(root, ['restore', import.meta.filename], env)
      assert.equal(restored.code, 1)
      assert.match(restored.stderr, refusal)
    }
  })

  test('a standby is backed up only if the address asks for it', onPostgres, async () => {
    await using primary = scoped(await startOwnPostgres())
    await using standby = scoped(await startStandby(primary.url))
    const { host } = new URL(primary.url)
    const dump = join(root, 'standby.dump')
    const made = await postern(root, ['backup', dump], { ...settings(standby.url), PATH: programs() })
    assert.deepEqual([made.code, existsSync(dump)], [1, false])
    assert.match(made.stderr, /^DATABASE_URL leads to a standby.*target_session_attrs=standby/)
    await dumpedWith(`${standby.url}?target_session_attrs=standby`)
    const both = standby.url.replace(new URL(standby.url).host, (first) => `${first},${host}`)
    assert.match(await dumpedWith(both), /--dbname=\S+\?target_session_attrs=read-write /)
    assert.match(
      await dumpedWith(`${both}?target_session_attrs=primary`),
      /--dbname=\S+\?target_session_attrs=primary /,
    )
  })

  test('a database with tables is refused before pg_restore runs', onPostgres, async () => {
    await using service = await startTestService(engine!)
    const restored = await postern(root, ['restore', import.meta.filename], {
      ...settings(service.databaseUrl),
      PATH: '/nothing',
    })
    assert.equal(restored.code, 1)
    assert.match(
      restored.stderr,
      /^The database of DATABASE_URL is not empty: it has the table \w+\. Nothing was restored\. Create an empty one/,
    )
  })

  test('a dump is restored into an empty database', onPostgres, async (context) => {
    const options = dumpable()
    if (!options) return context.skip('no pg_dump, or no server that it can dump')
    await using server = scoped(await startOwnPostgres(options))
    const service = await startTestService(engine!, { databaseUrl: server.url })
    await postWebhook(service, { id: 'evt_dumped', type: 'backup.test' })
    const file = join(root, 'postgres.backup')
    const made = await postern(root, ['backup', file], settings(server.url))
    assert.equal(made.code, 0, made.stderr)
    await service.close()
    await asAdmin(server.url, 'create database restored')
    const url = server.url.replace(/postgres$/, 'restored')
    const restored = await postern(root, ['restore', file], settings(url))
    assert.equal(restored.code, 0, restored.stderr)
    const other = await startTestService(engine!, { databaseUrl: url })
    assert.ok((await eventIds(other)).has('evt_dumped'))
    await other.close()
  })
})
