import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { migrate } from '../../src/storage/migrate.ts'
import { SpoolFile } from '../../src/receiving/sqlite/spool-file.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { EventQueueStatus } from '../../src/storage/tables.ts'
import { insertEvent, listening, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { onEachEngine, onSqlite, sqlite } from '#test/harness/engines.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'
import { postern, type Ended } from './command.ts'

const production = {
  NODE_ENV: 'production',
  BASE_URL: 'https://gate.example.com',
  POSTERN_SECRET: 'a-master-secret-of-32-bytes-or-more',
  WEBHOOK_SECRET: 'a-webhook-secret',
  ADMIN_API_KEY: 'pk_an_admin_key_of_20',
}
/** Nobody listens on port 9 (discard). */
const nowhere = 'http://127.0.0.1:9'

describe('postern doctor', () => {
  const home = temporaryFolder()
  const provider = started(() => startOAuthProvider())
  const doctor = (env: Record<string, string> = {}): Promise<Ended> => postern(home, ['doctor'], env)

  test('without settings and before the first start: no fault, and nothing is created', async () => {
    const { code, stdout } = await doctor()
    assert.equal(code, 0, stdout)
    for (const line of [
      /^✔ settings: demo mode$/m,
      /^✔ database: .*data\/postern\.db will be created/m,
      /^✔ clock: /m,
      /^✔ provider demo: built in/m,
      /^no faults$/m,
    ])
      assert.match(stdout, line)
    assert.ok(!existsSync(join(home, 'data')))
  })

  test('a database that cannot be used is one fault, and the other checks still run', async () => {
    for (const url of [
      'postgres://me:pw@127.0.0.1:9/gate',
      'postgres://me:pw@127.0.0.1:9/gate?sslmode=verify-full',
    ]) {
      const { code, stdout, stderr } = await doctor({ ...production, DATABASE_URL: url })
      assert.equal(code, 1)
      assert.equal(stderr, '')
      assert.equal(stdout.match(/ECONNREFUSED/g)?.length, 1)
      assert.match(stdout, /^1 fault$/m)
    }
  })

  test('a list whose table a pending migration creates is no fault', async () => {
    const folder = await mkdtemp(join(home, 'project-'))
    await mkdir(join(folder, 'migrations'))
    writeFileSync(join(folder, 'migrations/0001-sold.sql'), 'create table sold (id text primary key)')
    writeFileSync(
      join(folder, 'postern.config.ts'),
      `import { defineConfig, list } from 'postern'
       export default defineConfig({ listing: { lists: [
         list({ path: '/sold', table: 'sold', key: 'id', fields: { id: { type: 'text' } } }),
       ] } })`,
    )
    const DATABASE_URL = `sqlite:${join(folder, 'gate.db')}`
    await (await openDatabase({ databaseUrl: DATABASE_URL })).close()
    const before = await postern(folder, ['doctor'], { DATABASE_URL })
    assert.equal(before.code, 0, before.stdout)
    assert.match(before.stdout, /^! lists: not checked until 0001-sold of migrations\/ is applied/m)
    await postern(folder, ['migrate'], { DATABASE_URL })
    assert.match((await postern(folder, ['doctor'], { DATABASE_URL })).stdout, /^✔ list \/sold: /m)
    writeFileSync(join(folder, 'migrations/0001-sold.sql'), 'create table sold (id integer)')
    const changed = await postern(folder, ['doctor'], { DATABASE_URL })
    assert.equal(changed.code, 1)
    assert.match(changed.stdout, /^✖ migrations: .*0001-sold\.sql was changed after it was applied/m)
  })

  test('reports the contents of the spool, and a custom one that does not respond', async () => {
    const file = join(home, 'spool.db')
    const SPOOL_URL = `file:${file}`
    assert.match((await doctor({ SPOOL_URL })).stdout, /^✔ spool: .*spool\.db will be created/m)
    const spool = new SpoolFile(file, { create: true })
    assert.match((await doctor({ SPOOL_URL })).stdout, /^✔ spool .*spool\.db: empty$/m)
    const event = { source: 'shop', eventId: 'evt_1', type: 'paid', contentType: 'text/plain', headers: '{}' }
    const times = { receivedAt: Date.now() - 600_000, dueAt: 0 }
    spool.add([{ ...event, ...times, payload: new Uint8Array(9), status: 'pending', orderKey: null }])
    assert.match(
      (await doctor({ SPOOL_URL })).stdout,
      /^! spool .*: 1 webhooks waiting, the oldest for 60\d s/m,
    )
    spool.setAside(spool.oldest(1)[0]!.seq, 'refused')
    assert.match(
      (await doctor({ SPOOL_URL })).stdout,
      /^! spool .*set aside there: 1: the database rejected/m,
    )
    spool.close()

    const custom = async (size: string): Promise<{ code: number; stdout: string }> => {
      const POSTERN_CONFIG = join(home, 'spool.config.mjs')
      writeFileSync(
        POSTERN_CONFIG,
        `const none = async () => []\nexport default { receiving: { spool: { append: none, read: none, remove: none, size: async () => ${size} } } }`,
      )
      return doctor({ POSTERN_CONFIG })
    }
    const waiting = await custom('({ entries: 2 })')
    assert.match(waiting.stdout, /^✔ spool of the configuration: 2 webhooks waiting$/m)
    const { code, stdout } = await custom(`{ throw new Error('no route') }`)
    assert.equal(code, 1)
    assert.match(stdout, /^✖ spool of the configuration: does not respond: no route$/m)
  })

  test('continues after invalid settings, and exits with 1', async () => {
    const { code, stdout } = await doctor({ ...production, BASE_URL: '', PORT: 'x', FOO_CLIENT_ID: 'x' })
    assert.equal(code, 1)
    for (const line of [/^✖ settings: BASE_URL/m, /^✖ settings: PORT/m, /^✖ settings: FOO_CLIENT_ID/m])
      assert.match(stdout, line)
    assert.match(stdout, /^✔ database: /m)
    assert.match(stdout, /^3 faults$/m)
  })

  test('reaches OAuth providers and presets; any response counts', async () => {
    provider.requests.length = 0
    const { GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET, ...addresses } = provider.env('GITHUB')
    const github = { GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET, GITHUB_BASE_URL: provider.url }
    const { code, stdout } = await doctor({ ...provider.env('ACME'), ...(github as Record<string, string>) })
    assert.ok(addresses['GITHUB_TOKEN_URL'])
    assert.equal(code, 0, stdout)
    const { host } = new URL(provider.url)
    assert.match(stdout, new RegExp(`^✔ provider acme: ${host} can be reached$`, 'm'))
    assert.match(stdout, new RegExp(`^✔ provider github: ${host}.* can be reached$`, 'm'))
    assert.ok(provider.requests.length >= 2)
    for (const { method } of provider.requests) assert.equal(method, 'HEAD', 'a light request')
  })

  test('an unreachable provider is a fault; an address for browsers only is a warning', async () => {
    const shut = await doctor({ ...provider.env('ACME'), ACME_TOKEN_URL: `${nowhere}/token` })
    assert.equal(shut.code, 1)
    assert.match(
      shut.stdout,
      /^✖ provider acme: http:\/\/127\.0\.0\.1:9\/token cannot be reached: .*ECONNREFUSED/m,
    )
    const inside = await doctor({ ...provider.env('ACME'), ACME_AUTH_URL: `${nowhere}/authorize` })
    assert.equal(inside.code, 0)
    assert.match(inside.stdout, /^! provider acme: http:\/\/127\.0\.0\.1:9\/authorize cannot be reached/m)
  })

  test('discovers an issuer and reaches its addresses; a missing document is a fault', async () => {
    const server = createServer((request, response) => {
      const found = request.url === '/.well-known/openid-configuration'
      const document = {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        jwks_uri: `${nowhere}/keys`,
      }
      response
        .writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
        .end(JSON.stringify(document))
    })
    await using opened = await listening(server)
    const base = opened.url
    const env = { ACME_CLIENT_ID: 'x', ACME_CLIENT_SECRET: 'y' }
    const keys = await doctor({ ...env, ACME_ISSUER: base })
    const none = await doctor({ ...env, ACME_ISSUER: `${base}/tenant` })
    assert.match(keys.stdout, /^✖ provider acme: http:\/\/127\.0\.0\.1:9\/keys cannot be reached/m)
    assert.match(
      none.stdout,
      /^✖ provider acme: .*\/tenant\/\.well-known\/.* answered 404: check its issuer/m,
    )
    assert.equal(none.code, 1)
  })

  test('an issuer with which nobody could sign in is a fault that names both values', async () => {
    const server = createServer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ issuer: `${base}/slash` }))
    })
    await using opened = await listening(server)
    const base = opened.url
    const { code, stdout } = await doctor({
      ACME_CLIENT_ID: 'x',
      ACME_CLIENT_SECRET: 'y',
      ACME_ISSUER: `${base}/slash/`,
    })
    assert.equal(code, 1)
    assert.ok(stdout.includes(`names the issuer "${base}/slash", but "${base}/slash/" is configured`), stdout)
  })

  test('warns of a provider whose clock differs', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(404, { date: new Date(Date.now() - 3_600_000).toUTCString() }).end()
    })
    await using opened = await listening(server)
    const base = opened.url
    const env = { ...provider.env('ACME'), ACME_TOKEN_URL: `${base}/token` }
    const { stdout } = await doctor(env)
    assert.match(stdout, /^! provider acme: its clock and this one differ by 3(600|599|601) s/m)
  })

  test('in production a provider on a private address is refused as sign-ins refuse it', async () => {
    provider.requests.length = 0
    const { code, stdout } = await doctor({ ...production, ...provider.env('ACME') })
    assert.equal(code, 1)
    assert.match(stdout, /^✖ provider acme: .*ALLOW_PRIVATE_NETWORK/m)
    assert.equal(provider.requests.length, 0)
  })

  test('reports a PostgreSQL that does not respond', async () => {
    const { code, stdout } = await doctor({ DATABASE_URL: 'postgres://me:hush@127.0.0.1:9/gate' })
    assert.equal(code, 1)
    assert.match(stdout, /^✖ database: The database of DATABASE_URL .*ECONNREFUSED/m)
    assert.doesNotMatch(stdout, /hush/)
  })

  test('reports a clock that is behind the times in SQLite', onSqlite, async () => {
    const database = await sqlite!.createDatabase()
    const opened = await openDatabase(database.url)
    await migrate(opened)
    await opened.transaction((tx) =>
      tx
        .updateTable('migrations')
        .set({ applied_at: Date.now() + 3_600_000 } as never)
        .execute(),
    )
    await opened.close()
    const { code, stdout } = await doctor({ DATABASE_URL: database.url })
    await database.drop()
    assert.equal(code, 1)
    assert.match(stdout, /^✖ clock: this machine's is 3\d{3} s behind/m)
  })
})

onEachEngine('postern doctor with a database', (engine) => {
  const database = started(() => engine.createDatabase())

  test('reports pending migrations, then none, and the clock', async () => {
    const env = { ...production, DATABASE_URL: database.url }
    if (engine.name === 'postgres') {
      const before = await postern(tmpdir(), ['doctor'], env)
      assert.equal(before.code, 0, before.stdout)
      assert.match(before.stdout, /^! migrations: initial.* to be applied/m)
    }
    await postern(tmpdir(), ['migrate'], env)
    const { code, stdout } = await postern(tmpdir(), ['doctor'], env)
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^✔ database: (sqlite|postgres) is available$/m)
    assert.match(stdout, /^✔ migrations: up to date$/m)
    assert.match(stdout, /^✔ clock: /m)
    assert.match(stdout, /^! sign-in: no identity provider is configured/m)
    assert.doesNotMatch(stdout, engine.name === 'postgres' ? /all are empty/ : /statistics/)
    const unnamed = await postern(tmpdir(), ['doctor'], { ...env, ADMIN_API_KEY: '' })
    assert.match(
      unnamed.stdout,
      /^! admins: no setting names an admin: set ADMIN_IDENTITIES, or run `postern users role/m,
    )
    for (const line of [
      engine.name === 'sqlite'
        ? /^✔ size: \d+\.\d MB, including \d+\.\d MB of free pages; log \d+\.\d MB, spool \d+\.\d MB$/m
        : /^✔ size: \d+\.?\d* MB$/m,
      /^✔ received events: none waiting$/m,
      /^✔ deliveries: none waiting$/m,
      /^✔ retention: nothing to remove$/m,
    ])
      assert.match(stdout, line)
  })

  test('reports a database that this version cannot use once, and ends its other checks', async () => {
    const made = await engine.createDatabase()
    const opened = await openDatabase(made.url)
    const early = { number: 1, name: 'initial', breaking: true, sqlite: 'select 1', postgres: 'select 1' }
    await migrate(opened, [early])
    await opened.close()
    const env = { ...production, DATABASE_URL: made.url }
    const checked = await postern(tmpdir(), ['doctor'], env)
    const migrated = await postern(tmpdir(), ['migrate'], env)
    await made.drop()
    assert.equal(checked.code, 1)
    assert.match(checked.stdout, /^✖ migrations: .* set DATABASE_URL to a new, empty database$/m)
    assert.match(checked.stdout, /^1 fault$/m)
    assert.equal(checked.stderr, '')
    assert.equal(migrated.code, 1)
    assert.match(migrated.stderr, /set DATABASE_URL to a new, empty database\n$/)
  })

  test(
    'compares the connections of all processes with the limit of PostgreSQL',
    { skip: engine.name === 'sqlite' && 'SQLite has no limit of connections' },
    async () => {
      const env = { ...production, DATABASE_URL: database.url }
      const few = await postern(tmpdir(), ['doctor'], env)
      assert.match(
        few.stdout,
        /^✔ connections: 0 processes are running; with 12 connections each, 12 of the server/m,
      )
      const service = await startTestService(engine, {
        databaseUrl: database.url,
        env: { POSTERN_SECRET: production.POSTERN_SECRET },
      })
      try {
        await eventually(async () => {
          const { code, stdout } = await postern(tmpdir(), ['doctor'], {
            ...env,
            DATABASE_CONNECTIONS: '1000',
          })
          assert.equal(code, 0, stdout)
          return /^! connections: 1 process is running; with 1000 .*Lower DATABASE_CONNECTIONS/m.test(stdout)
        }, 'the process is seen')
      } finally {
        await service.close()
      }
      const fewer = await postern(tmpdir(), ['doctor'], { ...env, DATABASE_CONNECTIONS: '7' })
      assert.equal(fewer.code, 1)
      assert.match(fewer.stdout, /DATABASE_CONNECTIONS is wrong: expected a whole number from 8 to 1000/)
    },
  )

  test('reports the backlog and its age, failures, and that old rows are not removed', async () => {
    const env = { ...production, DATABASE_URL: database.url }
    await postern(tmpdir(), ['migrate'], env)
    const opened = await openDatabase(database.url)
    const hour = 3_600_000
    try {
      const now = Date.now()
      await opened.transaction(async (tx) => {
        for (const [id, status] of ['pending', 'pending', 'blocked', 'failed', 'processed'].entries()) {
          const event = await insertEvent(tx, {
            event_id: `e${id}`,
            direction: 'received',
            source: 'provider',
            type: 't',
            created_at: now - 40 * 24 * hour,
          })
          await tx
            .insertInto('event_queue')
            .values({
              event,
              source: 'provider',
              event_id: `e${id}`,
              type: 't',
              status: status as EventQueueStatus,
              attempts: 1,
              attempts_before: 0,
              due_at: now - (3 - id) * hour,
              claim: null,
              processed_at: null,
            })
            .execute()
        }
      })
    } finally {
      await opened.close()
    }
    const { code, stdout } = await postern(tmpdir(), ['doctor'], env)
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^! received events: 3 waiting, the oldest due for 3 h.* keeps up$/m)
    assert.match(stdout, /^! received events: 1 failed after the last attempt.*`postern replay events`$/m)
    assert.match(
      stdout,
      /^! retention: the oldest finished event is from .*, but events are retained for 30 days/m,
    )
    if (engine.name === 'sqlite') assert.match(stdout, /^✔ tables: .*\bevents 5\b/m)
  })
})
