import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import { systemClock } from '../../runtime/clock.ts'
import type { SavepointScope } from './savepoint-scope.ts'
import { SharedTransactionQueue, SingleStatements } from './shared-transaction-queue.ts'
import { SharedCommitFailed, type TransactionDriver } from './transaction-driver.ts'

const inserted = { rows: [], numAffectedRows: 1n }

/** A queue over transactions that only count their savepoints. Time stands still. */
function counting() {
  const savepoints: number[] = []
  const open = (): Promise<TransactionDriver> => {
    const place = savepoints.push(0) - 1
    return Promise.resolve({
      savepoint: () => void (savepoints[place]! += 1),
      // Statements that sleep are never answered.
      run: (query) => (query.sql.includes('sleep') ? new Promise(() => {}) : Promise.resolve(inserted)),
      runTogether: (queries) => Promise.resolve(queries.map(() => inserted)),
      releaseSavepoint() {},
      rollbackToSavepoint() {},
      commit: () => Promise.resolve(),
      restore: () => Promise.resolve(),
      rollback: () => Promise.resolve(),
      isContended: () => false,
    })
  }
  const queue = new SharedTransactionQueue<string>({
    engine: 'postgres',
    open,
    beforeCommit: () => Promise.resolve(undefined),
    scheduler: { ...systemClock, elapsed: () => 0, after: () => () => undefined },
  })
  const begin = (): SavepointScope<string> =>
    queue.begin({ alone: false, timeLimit: 100, turnLimit: 100, onEnd() {}, group: 'test' })
  const run = async (statements: number): Promise<void> => {
    const scope = begin()
    for (let index = 0; index < statements; index += 1) await sql`insert`.execute(scope.tx)
    await (
      await scope.release('')
    ).committed
  }
  return { savepoints, begin, run }
}

test('batches that are broken up keep to the bound on savepoints', async () => {
  const { savepoints, run } = counting()
  for (let index = 0; index < 4; index += 1) await run(1)
  await Promise.all(Array.from({ length: 128 }, (_, index) => run(index % 8 === 0 ? 2 : 1)))
  assert.ok(Math.max(...savepoints) > 32, 'no batch was broken up')
  assert.ok(Math.max(...savepoints) <= 60, `savepoints of each transaction: ${savepoints.join(', ')}`)
})

test('scopes that work at the same time share one transaction: two would hold locks that the other wants', async () => {
  const { savepoints, begin } = counting()
  const scopes = Array.from({ length: 20 }, begin)
  const released = scopes.map(async (scope) => {
    for (const statement of [sql`select`, sql`update`]) await statement.execute(scope.tx)
    return scope.release('')
  })
  await (await Promise.all(released)).at(-1)!.committed
  assert.deepEqual(savepoints, [20])
})

test('a scope that is rolled back during its statement tells the others of the commit why', async () => {
  const { begin } = counting()
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

const insert = CompiledQuery.raw('insert into letters values (1)')

function learned(): SingleStatements {
  const statements = new SingleStatements()
  for (let index = 0; index < 4; index += 1) statements.learn('first', true)
  return statements
}

test('the number of groups is bounded, also if all have single statements', () => {
  const statements = learned()
  for (let index = 0; index < 10_000; index += 1) statements.learn(`other ${index}`, true)
  assert.equal(statements.expected('first', insert), false)
})

test('a group that is known does not make the others forgotten', () => {
  const statements = learned()
  for (let index = 1; index < 10_000; index += 1) statements.learn(`other ${index}`, true)
  statements.learn('other 1', false)
  assert.equal(statements.expected('first', insert), true)
})
