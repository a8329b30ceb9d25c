// Migration 17: keys that were made before there were scopes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { migrate } from '../../src/storage/migrate.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine } from '../harness/engines.ts'

onEachEngine('scopes of keys of before', (engine) => {
  test('a key of an admin keeps everything, one of a user has what it had: nothing', async () => {
    const fresh = await engine.createDatabase()
    const database = await openDatabase(fresh.url)
    try {
      const before = migrations.filter(({ number }) => number < 17)
      await migrate(database, before)
      for (const role of ['admin', 'user'])
        await database.transaction((tx) =>
          sql`insert into api_keys (id, name, role, prefix, key_hash, created_at)
            values (${role}, 'old', ${role}, 'pk_', ${Buffer.from(role)}, 1)`.execute(tx),
        )
      await migrate(database)
      const rows = await database.reader
        .selectFrom('api_keys')
        .select(['id', 'scopes'])
        .orderBy('id')
        .execute()
      assert.deepEqual(
        rows.map(({ id, scopes }) => [id, scopes]),
        [
          ['admin', 'admin'],
          ['user', ''],
        ],
      )
    } finally {
      await database.close()
      await fresh.drop()
    }
  })
})
