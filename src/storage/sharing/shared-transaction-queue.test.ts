import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../runtime/clock.ts'
import type { SavepointScope } from '../shared-transactions.ts'
import { SharedTransactionQueue } from './shared-transaction-queue.ts'
import { SharedCommitFailed, type TransactionDriver } from './transaction-driver.ts'

const inserted = { rows: [], numAffectedRows: 1n }

/** A queue over transactions that do nothing. Time stands still. */
function still() {
  const open = (): Promise<TransactionDriver> => {
    return Promise.resolve({
      savepoint() {},
      // Statements that sleep are never answered.
      run: (query) => (query.sql.includes('sleep') ? new Promise(() => {}) : Promise.resolve(inserted)),
      runTogether: (queries) => Promise.resolve(queries.map(() => inserted)),
      releaseSavepoint() {},
      rollbackToSavepoint() {},
      commit: () => Promise.resolve(),
      rollback: () => Promise.resolve(),
      isContended: () => false,
    })
  }
  const queue = new SharedTransactionQueue<string>({
    engine: 'postgres',
    open,
    beforeCommit: () => Promise.resolve(undefined),
    most: 1,
    batches: true,
    scheduler: { ...systemClock, elapsed: () => 0, after: () => () => undefined },
  })
  const begin = (): SavepointScope<string> =>
    queue.begin({ alone: false, timeLimit: 100, turnLimit: 100, onTimeLimit() {}, share: 'test' })
  return { begin }
}

test('a scope that is rolled back during its statement tells the others of the commit why', async () => {
  const { begin } = still()
  const first = begin()
  await sql`insert`.execute(first.tx)
  const { committed } = await first.release('')
  const sleeping = begin()
  void sql`sleep`.execute(sleeping.tx)
  await new Promise(setImmediate)
  await sleeping.rollback()
  await assert.rejects(committed, (error) => {
    assert.ok(error instanceof SharedCommitFailed)
    assert.match(String(error.cause), /was rolled back already/)
    return true
  })
})
