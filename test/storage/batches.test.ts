// On PostgreSQL, the statements of scopes with a single statement are sent together. If a scope behaves differently than expected, the
// others must not be affected. SQLite has no batches, and must give the same results.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../src/storage/database.ts'
import type { EndedBy, SavepointScope } from '../../src/storage/sharing/savepoint-scope.ts'
import type { SharedTransactions } from '../../src/storage/sharing/shared-transaction-queue.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { SharedCommitFailed } from '../../src/storage/sharing/transaction-driver.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('scopes with a single statement', (engine) => {
  let sharing: SharedTransactions<string>
  let seals: string[][]

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await database.transaction((tx) => sql`create table letters (letter text primary key)`.execute(tx))
    sharing = database.share((_, notes) => {
      seals.push([...notes])
      return Promise.resolve(undefined)
    })
  })
  beforeEach(async () => {
    seals = []
    // So many of a kind that the next ones are expected to be like them.
    for (let index = 0; index < 5; index += 1) await run(`before ${index}`)
    await database.transaction((tx) => sql`delete from letters`.execute(tx))
    seals = []
  })

  const insert = (tx: Tx, letter: string) => sql`insert into letters values (${letter})`.execute(tx)
  const letters = async (): Promise<string> =>
    (await sql<{ letter: string }>`select letter from letters order by letter`.execute(database.reader)).rows
      .map(({ letter }) => letter)
      .join(' ')
  const begin = (options: Partial<Parameters<typeof sharing.begin>[0]> = {}): SavepointScope<string> =>
    sharing.begin({
      alone: false,
      timeLimit: 9_000,
      turnLimit: 9_000,
      onEnd: () => undefined,
      group: 'test',
      ...options,
    })
  const keep = async (part: SavepointScope<string>, note: string): Promise<void> =>
    (await part.release(note)).committed
  const run = async (name: string, part = begin()): Promise<void> => {
    await insert(part.tx, name)
    await keep(part, name)
  }

  test('hundreds of scopes commit in few transactions', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
    await Promise.all(names.map((name) => run(name)))
    assert.equal((await letters()).split(' ').length, 300)
    assert.ok(seals.length < 100, `${seals.length} commits`)
    assert.deepEqual(seals.flat().toSorted(), names.toSorted())
  })

  test('a rollback after the statement does not affect the others', async () => {
    const undone = begin()
    const undo = insert(undone.tx, 'undone').then(() => undone.rollback())
    await Promise.all([run('a'), undo, run('b'), run('c')])
    assert.equal(await letters(), 'a b c')
    assert.deepEqual(seals.flat().toSorted(), ['a', 'b', 'c'])
  })

  test('a failed statement rejects its own scope only', async () => {
    await run('taken')
    const part = begin()
    const fails = assert.rejects(insert(part.tx, 'taken'), /unique|UNIQUE/).then(() => part.rollback())
    await Promise.all([run('a'), fails, run('b')])
    assert.equal(await letters(), 'a b taken')
  })

  test('a failed statement in a savepoint of the handler does not end its scope', async () => {
    await run('taken')
    const stubborn = begin()
    const goesOn = (async () => {
      await assert.rejects(insert(stubborn.tx, 'taken'))
      if (engine.name === 'postgres')
        await assert.rejects(stubborn.release('stubborn'), /a statement .* failed/)
      await stubborn.rollback()
    })()
    await Promise.all([run('a'), goesOn, run('b')])
    assert.equal(await letters(), 'a b taken')
  })

  test('a second statement sees all of another scope or nothing', async () => {
    const counts: number[] = []
    const counting = async (name: string): Promise<void> => {
      const part = begin()
      await insert(part.tx, name)
      const { rows } = await sql<{ count: number }>`select count(*) as count from letters`.execute(part.tx)
      counts.push(rows[0]!.count)
      await insert(part.tx, `${name}${name}`)
      await keep(part, name)
    }
    await Promise.all([counting('a'), run('x'), counting('b'), counting('c')])
    assert.equal(await letters(), 'a aa b bb c cc x')
    // Each part that is whole before another one begins brings two rows, and x brings one: an own row makes no pair.
    const whole = counts.toSorted((a, b) => a - b).map((count) => count - 1)
    assert.equal(new Set(whole).size, 3, `saw ${counts.join(', ')}`)
  })

  test('two concurrent statements of a scope both run', async () => {
    const two = begin()
    const both = Promise.all([insert(two.tx, 'one'), insert(two.tx, 'two')]).then(() => keep(two, 'both'))
    await Promise.all([run('a'), both, run('b')])
    assert.equal(await letters(), 'a b one two')
  })

  test('the release of a scope waits for statements that are not awaited', async () => {
    const two = begin()
    await insert(two.tx, 'one')
    const second = insert(two.tx, 'two')
    const neither = begin()
    const statements = [insert(neither.tx, 'three'), insert(neither.tx, 'four')]
    await Promise.all([run('a'), keep(two, 'two'), keep(neither, 'neither'), run('b')])
    assert.equal(await letters(), 'a b four one three two')
    await Promise.all([second, ...statements])
  })

  test('a statement that is sent while its scope is released runs before the commit', async () => {
    const late = begin()
    const first = insert(late.tx, 'first')
    const kept = keep(late, 'late')
    const second = insert(late.tx, 'second')
    await Promise.all([run('a'), kept, run('b')])
    assert.equal(await letters(), 'a b first second')
    await Promise.all([first, second])
  })

  test('a failed statement that is not awaited fails its own scope only', async () => {
    await run('taken')
    const broken = begin()
    const ends = (async () => {
      await insert(broken.tx, 'one')
      await insert(broken.tx, 'two')
      const fails = assert.rejects(insert(broken.tx, 'taken'), /unique|UNIQUE/)
      const kept = keep(broken, 'broken')
      // SQLite undoes only the statement.
      if (engine.name === 'postgres') await assert.rejects(kept, /a statement .* failed/)
      else await kept
      await fails
      await broken.rollback()
    })()
    await Promise.all([run('a'), ends, run('b')])
    assert.equal(await letters(), engine.name === 'postgres' ? 'a b taken' : 'a b one taken two')
  })

  test('a statement that waits for a turn is rejected when its scope is rolled back', async () => {
    const rejected = (statement: Promise<unknown>) => assert.rejects(statement, /was rolled back/)
    const begun = begin()
    await insert(begun.tx, 'one')
    const second = rejected(insert(begun.tx, 'two'))
    await begun.rollback()
    await second
    const slow = begin()
    await insert(slow.tx, 'slow')
    const queued = begin()
    const both = Promise.all([insert(queued.tx, 'one'), insert(queued.tx, 'two')].map(rejected))
    await queued.rollback()
    await both
    await keep(slow, 'slow')
    assert.equal(await letters(), 'slow')
  })

  test('a scope that ends before its statement is answered does not affect the others', async () => {
    const gone = begin()
    const leaves = insert(gone.tx, 'gone')
    const others = Promise.allSettled([run('a'), run('b')])
    await gone.rollback()
    await assert.rejects(leaves)
    for (const [index, result] of (await others).entries()) {
      if (result.status === 'fulfilled') continue
      assert.ok(result.reason instanceof SharedCommitFailed)
      await run('ab'[index]!, begin({ alone: true }))
    }
    assert.equal(await letters(), 'a b')
  })

  test('a scope without a statement does not wait', async () => {
    const idle = await begin().release('idle')
    await Promise.all([run('a'), idle.committed])
    assert.deepEqual(seals.flat().toSorted(), ['a', 'idle'])
  })

  test('a scope that does not end delays the others for its turn only', async () => {
    let endedBy: EndedBy | undefined
    // On a busy machine the first statement takes some of the limit.
    const slow = begin({ turnLimit: 1_000, onEnd: (by) => (endedBy = by) })
    await Promise.all([insert(slow.tx, 'slow'), run('a'), run('b')])
    assert.equal(await letters(), 'a b')
    if (endedBy === undefined) await slow.rollback()
    assert.notEqual(endedBy, 'time limit')
  })

  test('a repeated statement with another row count fails the whole commit', async () => {
    if (engine.name !== 'postgres') return
    await run('x')
    // The first to delete it finds it. With the first of the two gone, the second one would: it was told otherwise.
    const remove = (tx: Tx) => sql`delete from letters where letter = 'x'`.execute(tx)
    const first = begin()
    const second = begin()
    const told = Promise.withResolvers<void>()
    const undo = remove(first.tx).then(async () => {
      await told.promise
      await first.rollback()
    })
    const other = (async () => {
      const { numAffectedRows } = await remove(second.tx)
      assert.equal(numAffectedRows, 0n)
      const { committed } = await second.release('second')
      told.resolve()
      await assert.rejects(committed, SharedCommitFailed)
    })()
    await Promise.all([undo, other])
    assert.equal(await letters(), 'x')
  })
})
