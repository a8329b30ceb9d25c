import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../../src/storage/open.ts'
import {
  applyProductMigrations,
  pendingProductMigrations,
  ProductMigrationError,
  readProductMigrations,
} from '../../src/storage/product-migrations.ts'
import { engines, scoped, started, temporaryFolder } from '../harness/index.ts'

for (const engine of engines)
  describe(`migrations of the product's own tables (${engine.name})`, () => {
    let folder: string
    const root = temporaryFolder()

    const home = started(() => engine.createDatabase())
    const database = started(() => openDatabase(home.url))
    beforeEach(({ name }) => {
      folder = join(root, name.replaceAll(/\W/g, '-'))
      mkdirSync(folder, { recursive: true })
    })

    const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
    const read = () => readProductMigrations(folder, engine.name)
    const apply = () => applyProductMigrations(database, read())

    test('each file is applied once, in the order of the numbers', async () => {
      write(
        '0010-totals.sql',
        'alter table orders add column total integer; create index by_total on orders (total)',
      )
      write('0002-orders.sql', 'create table orders (id text primary key);')
      write('notes.txt', 'not a migration')
      assert.deepEqual(await pendingProductMigrations(database, read()), ['0002-orders', '0010-totals'])
      assert.deepEqual(await apply(), ['0002-orders', '0010-totals'])
      assert.deepEqual(await apply(), [])
      write('0011-more.sql', "insert into orders (id, total) values ('a', 1)")
      assert.deepEqual(await apply(), ['0011-more'])
      assert.deepEqual(await pendingProductMigrations(database, read()), [])
      const { rows } = await sql<{ total: number }>`select total from orders`.execute(database.reader)
      assert.equal(rows[0]?.total, 1)
    })

    test('concurrent processes apply each file once', async () => {
      write('0020-concurrent.sql', 'create table concurrent (id text primary key)')
      await using other = scoped(await openDatabase(home.url))
      const applied = await Promise.all([
        applyProductMigrations(database, read()),
        applyProductMigrations(other, read()),
      ])
      assert.deepEqual(applied.flat(), ['0020-concurrent'])
    })

    test('a file for one engine is not applied on the other', async () => {
      write('0030-kinds.sqlite.sql', 'create table kinds (data text)')
      write('0030-kinds.postgres.sql', 'create table kinds (data jsonb)')
      assert.deepEqual(await apply(), ['0030-kinds'])
    })

    test('a failing file names itself, and leaves the database as it was', async () => {
      write('0040-good.sql', 'create table good (id text primary key)')
      write('0041-bad.sql', 'create table bad (id text primary key); insert into nothing values (1)')
      await assert.rejects(apply(), (error) => {
        assert.ok(error instanceof ProductMigrationError)
        assert.match(error.message, /0041-bad\.sql: .*nothing/)
        return true
      })
      await assert.rejects(sql`select * from good`.execute(database.reader))
    })

    test('a file does not end the transaction of all', async () => {
      write('0042-first.sql', 'create table first (id text primary key)')
      for (const statement of ['commit', 'BEGIN', '/* a */ rollback']) {
        write('0043-ends.sql', `create table second (id text); ${statement}; select 1`)
        await assert.rejects(apply(), /0043-ends\.sql: remove "\w+": tx is one transaction/)
      }
      await assert.rejects(sql`select * from first`.execute(database.reader))
      const [trigger] = {
        sqlite: [
          'create trigger watch after insert on first begin update first set id = new.id; end; select 1',
        ],
        postgres: [
          'create function two() returns integer begin atomic; select 1; select 2; end; do $$ begin perform 1; end $$',
        ],
      }[engine.name]
      write('0043-ends.sql', trigger!)
      assert.deepEqual(await apply(), ['0042-first', '0043-ends'])
    })

    if (engine.name === 'postgres')
      test('what a file sets ends with it, as in a file of pg_dump', async () => {
        write(
          '0044-dump.sql',
          `set statement_timeout = 0; set default_transaction_read_only = on;
          select pg_catalog.set_config('search_path', '', false); select pg_advisory_lock(42);
          create table public.dumped (id text primary key); create temporary table mine (a integer)`,
        )
        write(
          '0045-after.sql',
          'create table after_dump (id text primary key); create temporary table mine (a integer)',
        )
        assert.deepEqual(await apply(), ['0044-dump', '0045-after'])
        await database.transaction((tx) => sql`insert into after_dump values ('a')`.execute(tx))
        const { rows } = await sql`select pid from pg_locks where locktype = 'advisory' and objid = 42
            and database = (select oid from pg_database where datname = current_database())`.execute(
          database.reader,
        )
        assert.deepEqual(rows, [])
      })

    test('a file that was changed after it was applied is refused', async () => {
      write('0050-once.sql', 'create table once (id text primary key)')
      await apply()
      write('0050-once.sql', 'create table once (id text primary key, name text)')
      await assert.rejects(apply(), /0050-once\.sql was changed after it was applied: restore it/)
    })

    test('a wrong name and a repeated number are refused', () => {
      write('0003-c.SQL', '')
      assert.throws(read, /0003-c\.SQL: the name of a migration is a number and words/)
      rmSync(join(folder, '0003-c.SQL'))
      write('orders.sql', '')
      assert.throws(read, /orders\.sql: the name of a migration is a number and words/)
      rmSync(join(folder, 'orders.sql'))
      write('1-a.sql', '')
      write('0001-b.sql', '')
      assert.throws(read, /has the number of .*give it another one/)
    })

    test('without a folder there are none', () => {
      assert.deepEqual(readProductMigrations(join(root, 'nothing'), engine.name), [])
    })
  })
