// The database of a product that has tables of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { describeError } from '../../src/diagnostics/describe-error.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate, OccupiedDatabase, pendingMigrations } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, scoped, startTestService } from '../harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

/** The table of the other program, by its schema. */
type Own = { 'public.users': { id: number; email: string } }

onEachEngine('a database with tables of another program', (engine) => {
  const run = async <T>(url: string, work: (database: Database) => Promise<T>): Promise<T> => {
    await using database = scoped(await openDatabase(url))
    return await work(database)
  }
  const statement = async (url: string, text: string): Promise<void> =>
    run(url, async (database) => {
      await database.transaction((tx) => sql.raw(text).execute(tx))
    })

  const withTable = async (table: string, use: (url: string) => Promise<void>): Promise<void> => {
    await using home = await engine.createDatabase()
    await statement(home.url, `create table ${table}`)
    await use(home.url)
  }

  const failureOf = async (url: string, work: (database: Database) => Promise<unknown>): Promise<Error> =>
    run(url, work).then(
      () => new Error('it succeeded'),
      (error: Error) => error,
    )

  test('is refused in words, and left as it is', () =>
    withTable('users (id integer, email text)', async (url) => {
      for (let time = 0; time < 2; time++) {
        const error = await failureOf(url, (database) => migrate(database))
        assert.ok(error instanceof OccupiedDatabase, error.message)
        assert.match(
          describeError(error),
          /^the database has a table or an index "users" of another program\. /,
        )
      }
    }))

  test('is refused if the other program has a table of migrations', () =>
    withTable('migrations (id integer, name text)', async (url) => {
      for (const work of [migrate, pendingMigrations])
        assert.match(
          (await failureOf(url, (database) => work(database))).message,
          /"migrations" of another program/,
        )
    }))

  test(
    'is rejected if its encoding lacks characters',
    { skip: engine.name === 'sqlite' && 'each file of SQLite has Unicode' },
    async () => {
      await using home = await engine.createDatabase()
      const latin = new URL(home.url)
      const name = `${latin.pathname.slice(1)}_latin`
      latin.pathname = `/${name}`
      // Not within a transaction.
      await using admin = scoped(new pg.Client({ connectionString: home.url }))
      await admin.connect()
      await admin.query(`create database "${name}" encoding 'LATIN1' locale 'C' template template0`)
      try {
        for (const work of [migrate, pendingMigrations]) {
          const error = await failureOf(latin.href, (database) => work(database))
          assert.match(describeError(error), /^the database has the encoding LATIN1, .* encoding 'UTF8'/)
        }
      } finally {
        await admin.query(`drop database "${name}" with (force)`)
      }
    },
  )

  test(
    'can be shared by a schema, as the message says',
    { skip: engine.name === 'sqlite' && 'SQLite has no schemas' },
    () =>
      withTable('users (id integer, email text)', async (url) => {
        await statement(url, 'create schema postern')
        await using service = await startTestService(engine, {
          databaseUrl: `${url}?options=-csearch_path%3Dpostern`,
          handlers: {
            'user.made': async (event, { tx, emit }) => {
              await tx
                .withTables<Own>()
                .insertInto('public.users')
                .values({ id: 1, email: event.id })
                .execute()
              emit({ type: 'user.stored', data: {} })
            },
          },
        })
        assert.equal((await postWebhook(service, { id: 'evt_1', type: 'user.made' })).status, 200)
        const rows = await eventually(async () => {
          const found = await run(url, (own) =>
            sql<{ email: string }>`select email from public.users`.execute(own.reader),
          )
          return found.rows.length > 0 && found.rows
        }, 'the row of the handler')
        assert.deepEqual(rows, [{ email: 'evt_1' }])
      }),
  )
})
