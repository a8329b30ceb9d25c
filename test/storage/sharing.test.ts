// Scopes of shared transactions: committed together, rolled back alone, and none delays another for long.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../src/storage/database.ts'
import type { EndedBy, SavepointScope } from '../../src/storage/sharing/savepoint-scope.ts'
import type { SharedTransactions } from '../../src/storage/sharing/shared-transaction-queue.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { SharedCommitFailed } from '../../src/storage/sharing/transaction-driver.ts'
import { StorageUnavailable } from '../../src/storage/unavailable.ts'
import { StatementRejected } from '../../src/storage/statement-kinds.ts'
import { onEachEngine, started } from '../harness/index.ts'

/** Milliseconds after which a scope ends. On a busy machine its first statement takes some of them. */
const shortLimit = 1_000

onEachEngine('shared transactions', (engine) => {
  /** The notes of each commit. */
  let seals: string[][]
  let sharing: SharedTransactions<string>

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await database.transaction((tx) => sql`create table letters (letter text primary key)`.execute(tx))
    sharing = database.share(async (tx, notes) => {
      seals.push([...notes])
      if (notes.includes('refused')) throw new Error('refused by the seal')
      for (const note of notes) await insert(tx, `sealed ${note}`)
    })
  })
  beforeEach(async () => {
    seals = []
    await database.transaction((tx) => sql`delete from letters`.execute(tx))
  })

  const insert = (tx: Tx, letter: string) => sql`insert into letters values (${letter})`.execute(tx)
  const letters = async (): Promise<string[]> =>
    (
      await sql<{ letter: string }>`select letter from letters order by letter`.execute(database.reader)
    ).rows.map(({ letter }) => letter)
  const begin = (options: Partial<Parameters<typeof sharing.begin>[0]> = {}): SavepointScope<string> =>
    sharing.begin({
      alone: false,
      timeLimit: 9_000,
      turnLimit: 9_000,
      onEnd: () => undefined,
      group: 'test',
      ...options,
    })
  /** One after the other without a pause between them, so that all share a commit. */
  const together = async (...names: string[]): Promise<PromiseSettledResult<void>[]> => {
    const commits: Promise<void>[] = []
    for (const name of names) {
      const part = begin()
      await insert(part.tx, name)
      commits.push((await part.release(name)).committed)
    }
    return Promise.allSettled(commits)
  }
  const run = async (name: string, part = begin()): Promise<void> => {
    await insert(part.tx, name)
    const { committed } = await part.release(name)
    await committed
  }

  test('concurrent scopes share a commit', async () => {
    await together('a', 'b', 'c')
    // All in one, on a machine that is not slow.
    assert.deepEqual(seals.flat(), ['a', 'b', 'c'])
    assert.deepEqual(await letters(), ['a', 'b', 'c', 'sealed a', 'sealed b', 'sealed c'])
  })

  test('a rolled back scope leaves nothing, and does not affect the others', async () => {
    const undone = begin()
    const fails = insert(undone.tx, 'undone').then(() => undone.rollback())
    await Promise.all([run('a'), fails, run('b')])
    assert.deepEqual(await letters(), ['a', 'b', 'sealed a', 'sealed b'])
  })

  test('a failed statement rolls back its own scope only, even if its error is ignored', async () => {
    const broken = begin()
    const fails = (async () => {
      await insert(broken.tx, 'twice')
      await assert.rejects(insert(broken.tx, 'twice'))
      if (engine.name === 'postgres') await assert.rejects(broken.release('broken'), /a statement .* failed/)
      await broken.rollback()
    })()
    await Promise.all([run('a'), fails, run('b')])
    assert.deepEqual(await letters(), ['a', 'b', 'sealed a', 'sealed b'])
  })

  test('a scope with `alone` has its own transaction', async () => {
    await Promise.all([run('a'), run('b', begin({ alone: true })), run('c')])
    assert.ok(seals.some((notes) => notes.length === 1 && notes[0] === 'b'))
  })

  test('if the commit fails, all its scopes must be tried alone', async () => {
    const results = await together('a', 'refused')
    const shared = seals.some((notes) => notes.length === 2)
    for (const result of shared ? results : results.slice(1)) {
      assert.equal(result.status, 'rejected')
      assert.ok(result.reason instanceof SharedCommitFailed)
    }
    assert.deepEqual(await letters(), shared ? [] : ['a', 'sealed a'])
    await database.transaction((tx) => sql`delete from letters`.execute(tx))
    await assert.rejects(run('refused', begin({ alone: true })), /refused by the seal/)
    await run('a', begin({ alone: true }))
    assert.deepEqual(await letters(), ['a', 'sealed a'])
  })

  test('a scope that delays others is rolled back early, one with `alone` at its own limit', async () => {
    let endedBy: EndedBy | undefined
    const slow = begin({ turnLimit: shortLimit, onEnd: (by) => (endedBy = by) })
    await insert(slow.tx, 'slow')
    await run('quick', begin({ alone: true }))
    // On PostgreSQL the quick one did not wait: it had another connection.
    await assert.rejects(async () => {
      for (;;)
        await new Promise((resolve) => setImmediate(resolve)).then(() => insert(slow.tx, `${Math.random()}`))
    }, /time limit/)
    assert.equal(endedBy, 'turn limit')
    const alone = begin({ alone: true, timeLimit: shortLimit, onEnd: (by) => (endedBy = by) })
    await insert(alone.tx, 'alone')
    await assert.rejects(async () => {
      for (;;)
        await new Promise((resolve) => setImmediate(resolve)).then(() => insert(alone.tx, `${Math.random()}`))
    }, /time limit|Connection terminated|database is unavailable/)
    assert.equal(endedBy, 'time limit')
    assert.deepEqual(await letters(), ['quick', 'sealed quick'])
  })

  test('a scope that is rolled back while it waits never gets a turn', async () => {
    const first = begin()
    await insert(first.tx, 'first')
    const waiting = begin()
    const waits = insert(waiting.tx, 'waiting')
    await waiting.rollback()
    await assert.rejects(waits, /rolled back/)
    await (
      await first.release('first')
    ).committed
    assert.deepEqual(await letters(), ['first', 'sealed first'])
  })

  test('a scope that is rolled back as its turn begins leaves nothing', async () => {
    // At each of the moments between the end of one turn and the first statement of the next.
    for (let moment = 0; moment < 12; moment += 1) {
      const first = begin()
      await insert(first.tx, `first ${moment}`)
      const undone = begin()
      const undo = Promise.allSettled([insert(undone.tx, `undone ${moment}`)])
      const next = run(`next ${moment}`)
      const released = first.release(`${moment}`)
      for (let turn = 0; turn < moment; turn += 1) await Promise.resolve()
      await undone.rollback()
      await Promise.allSettled([(await released).committed, next, undo])
    }
    assert.deepEqual(
      (await letters()).filter((letter) => letter.startsWith('undone')),
      [],
    )
  })

  test('statements that begin or end transactions are refused; savepoints are not', async () => {
    for (const statement of [
      'commit',
      ' -- a\n /* b */ COMMIT',
      'rollback',
      'begin immediate',
      'end',
      'start transaction',
      'abort',
    ]) {
      const part = begin()
      await assert.rejects(sql.raw(statement).execute(part.tx), StatementRejected)
      await part.rollback()
    }
    const part = begin()
    await insert(part.tx, 'kept')
    await sql`savepoint mine`.execute(part.tx)
    await insert(part.tx, 'dropped')
    await sql`rollback to savepoint mine`.execute(part.tx)
    await (
      await part.release('saved')
    ).committed
    assert.deepEqual(await letters(), ['kept', 'sealed saved'])
  })

  test('a second statement in the same text does not run', async () => {
    const part = begin()
    const run = sql.raw(`insert into letters values ('one'); commit`).execute(part.tx)
    if (engine.name === 'postgres') await assert.rejects(run, /multiple commands/)
    else await run
    await part.rollback()
    assert.deepEqual(await letters(), [])
  })

  test(
    'a conflict that ends the transaction fails all its scopes',
    {
      skip: engine.name === 'postgres' && 'PostgreSQL has no such conflict',
    },
    async () => {
      await run('taken')
      const first = begin()
      await insert(first.tx, 'first')
      const { committed } = await first.release('first')
      const told = assert.rejects(committed, SharedCommitFailed)
      const second = begin()
      await assert.rejects(sql`insert or rollback into letters values ('taken')`.execute(second.tx))
      // Outside of a transaction it would be committed by itself.
      await assert.rejects(insert(second.tx, 'stray'))
      await second.rollback()
      await told
      assert.deepEqual(await letters(), ['sealed taken', 'taken'])
    },
  )

  /** Another process, with connections for several transactions at once. */
  const elsewhere = started(() => openDatabase(home.url, { connections: 16 }))
  const touch = (part: SavepointScope<string>, letter: string) =>
    sql`update letters set letter = letter where letter = ${letter}`.execute(part.tx)

  test(
    'shared transactions of two processes that want locks of each other do not deadlock',
    { skip: engine.name === 'sqlite' && 'SQLite has one writer' },
    async () => {
      await database.transaction((tx) => insert(tx, 'one'))
      await database.transaction((tx) => insert(tx, 'two'))
      const endedBy: EndedBy[] = []
      const onEnd = (by: EndedBy): void => void endedBy.push(by)
      const options = { alone: false, timeLimit: 9_000, turnLimit: 9_000, onEnd, group: 'test' }
      const other = elsewhere.share<string>(() => Promise.resolve(undefined)).begin(options)
      const own = begin({ onEnd })
      await Promise.all([touch(own, 'one'), touch(other, 'two')])
      const results = await Promise.allSettled([touch(own, 'two'), touch(other, 'one')])
      const left = results.flatMap((result) =>
        result.status === 'rejected' ? [result.reason as unknown] : [],
      )
      assert.ok(left.length > 0)
      for (const error of left) assert.equal((error as { code?: string }).code, '55P03')
      assert.deepEqual(
        endedBy,
        left.map(() => 'conflict'),
      )
      await Promise.all([own.rollback(), other.rollback()])
      const { rows } =
        await sql`select deadlocks from pg_stat_database where datname = current_database()`.execute(
          database.reader,
        )
      assert.deepEqual(rows, [{ deadlocks: 0 }])
    },
  )

  test(
    'a lock that is not granted ends a scope that shares; one with `alone` waits, or sees its own NOWAIT fail',
    { skip: engine.name === 'sqlite' && 'SQLite has one writer' },
    async () => {
      await database.transaction((tx) => insert(tx, 'row'))
      const holder = begin({ alone: true })
      await touch(holder, 'row')
      let endedBy: EndedBy | undefined
      const shares = begin({ onEnd: (by) => (endedBy = by) })
      await assert.rejects(touch(shares, 'row'), { code: '55P03' })
      assert.equal(endedBy, 'conflict')
      const options = { alone: true, timeLimit: 9_000, turnLimit: 9_000, onEnd() {}, group: 'test' }
      const sharing = elsewhere.share<string>(() => Promise.resolve(undefined))
      const [patient, hasty] = [sharing.begin(options), sharing.begin(options)]
      const waits = touch(patient, 'row')
      await assert.rejects(
        sql`select letter from letters where letter = 'row' for update nowait`.execute(hasty.tx),
        { code: '55P03' },
      )
      await Promise.all([hasty.rollback(), holder.rollback()])
      await waits
      await patient.rollback()
    },
  )

  test(
    'a scope ends when its connection is lost, also while it does something else',
    { skip: engine.name === 'sqlite' && 'SQLite has no connection' },
    async () => {
      for (const alone of [true, false]) {
        const ended = Promise.withResolvers<EndedBy>()
        const part = begin({ alone, onEnd: ended.resolve })
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(part.tx)
        await sql`select pg_terminate_backend(${rows[0]!.pid}::integer)`.execute(database.reader)
        assert.equal(await ended.promise, 'connection lost')
        await assert.rejects(insert(part.tx, 'late'), StorageUnavailable)
        await part.rollback()
        await run(`after ${alone}`)
      }
    },
  )
})
