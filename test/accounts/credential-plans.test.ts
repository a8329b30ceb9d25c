// The limit of credentials of a user costs the same, however many of them were revoked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql, type CompiledQuery } from 'kysely'
import { CredentialStore } from '../../src/accounts/tokens/credential-store.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { transactionOver } from '../../src/storage/query-runner.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('credentials of a user', (engine) => {
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))

  for (const table of ['sessions', 'token_families'] as const)
    test(`revoked ${table} are not read for the limit`, async () => {
      let statement: CompiledQuery | undefined
      const recording = transactionOver(engine.name, (query) => {
        statement = query
        return Promise.resolve({ rows: [] })
      })
      await new CredentialStore(table).revokeBeyondLimit(recording, { userId: 'u1', now: 1, limit: 100 })
      const { sql: text, parameters } = statement!
      const plan = await database.transaction(async (tx) => {
        // The table is empty, so PostgreSQL would read all of it.
        if (engine.name === 'postgres') await sql`set local enable_seqscan = off`.execute(tx)
        const explain = engine.name === 'postgres' ? 'explain' : 'explain query plan'
        return tx.executeQuery({ ...statement!, sql: `${explain} ${text}`, parameters })
      })
      const condition =
        engine.name === 'postgres'
          ? /user_id = .*AND \(revoked_at IS NULL\)/
          : /\(user_id=\? AND revoked_at=\?\)/
      assert.match(JSON.stringify(plan.rows), condition)
    })
})
