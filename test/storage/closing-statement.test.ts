// A statement that is sent together with the commit of a shared transaction.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { ClosingStatement } from '../../src/storage/lazy-transaction.ts'
import type { SharedTransactions } from '../../src/storage/sharing/shared-transaction-queue.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { kyselyOver } from '../../src/storage/query-runner.ts'
import { SharedCommitFailed } from '../../src/storage/sharing/transaction-driver.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('closing statements', (engine) => {
  let sharing: SharedTransactions<string>
  const compiling = kyselyOver(engine.name, () => Promise.reject(new Error('only compiled')))
  const insert = (letter: string) => sql`insert into letters values (${letter})`

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await database.transaction((tx) => sql`create table letters (letter text primary key)`.execute(tx))
    sharing = database.share((_tx, [first]) =>
      Promise.resolve(
        new ClosingStatement(
          insert(`closed by ${first}`).compile(compiling),
          (error) => new RangeError('explained', { cause: error }),
        ),
      ),
    )
  })
  beforeEach(async () => {
    await database.transaction((tx) => sql`delete from letters`.execute(tx))
  })

  async function run(letter: string, { alone }: { alone: boolean }): Promise<void> {
    const options = { timeLimit: 9_000, turnLimit: 9_000, onEnd: () => undefined, group: 'test' }
    const part = sharing.begin({ alone, ...options })
    await insert(letter).execute(part.tx)
    const { committed } = await part.release(letter)
    await committed
  }
  const letters = async (): Promise<string[]> =>
    (
      await sql<{ letter: string }>`select letter from letters order by letter`.execute(database.reader)
    ).rows.map(({ letter }) => letter)

  for (const alone of [false, true]) {
    const how = alone ? 'alone' : 'shared'
    test(`it is committed with the rest (${how})`, async () => {
      await run('a', { alone })
      assert.deepEqual(await letters(), ['a', 'closed by a'])
    })

    test(`when it fails, nothing is committed, and the next one is (${how})`, async () => {
      await database.transaction((tx) => insert('closed by a').execute(tx))
      await assert.rejects(run('a', { alone }), (error) => {
        const told = error instanceof SharedCommitFailed ? error.cause : error
        assert.ok(told instanceof RangeError && told.cause instanceof Error)
        assert.equal(error instanceof SharedCommitFailed, !alone)
        return true
      })
      assert.deepEqual(await letters(), ['closed by a'])
      await run('b', { alone })
      assert.deepEqual(await letters(), ['b', 'closed by a', 'closed by b'])
    })
  }
})
