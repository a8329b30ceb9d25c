// Inserts that are one transaction: on PostgreSQL one statement.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql, type CompiledQuery } from 'kysely'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('inserts together', (engine) => {
  const home = started(() => engine.createDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await database.transaction(async (tx) => {
      await sql`create table words (word text primary key, number integer)`.execute(tx)
      await sql`create table uses (word text not null references words (word), note text)`.execute(tx)
    })
  })
  beforeEach(async () => {
    await database.transaction(async (tx) => {
      await sql`delete from uses`.execute(tx)
      await sql`delete from words`.execute(tx)
    })
  })

  const word = (name: string, number: number): CompiledQuery =>
    sql`insert into words (word, number) values (${name}, ${number})`.compile(database.reader)
  const use = (name: string, note: string): CompiledQuery =>
    sql`insert into uses (word, note) values (${name}, ${note})`.compile(database.reader)
  const rows = async (): Promise<unknown[]> =>
    (
      await sql`select words.word as word, number, note from words left join uses on uses.word = words.word
        order by words.word`.execute(database.reader)
    ).rows.map((row) => Object.assign({}, row))

  test('each gets its own values', async () => {
    await database.insertTogether([word('one', 1), use('one', '$1'), word('two', 2)])
    assert.deepEqual(await rows(), [
      { word: 'one', number: 1, note: '$1' },
      { word: 'two', number: 2, note: null },
    ])
  })

  test('one that fails undoes the others, and the next ones succeed', async () => {
    await assert.rejects(database.insertTogether([word('one', 1), use('none', 'x')]))
    assert.deepEqual(await rows(), [])
    await database.insertTogether([word('one', 1)])
    await assert.rejects(database.insertTogether([word('two', 2), word('one', 3)]))
    assert.deepEqual(await rows(), [{ word: 'one', number: 1, note: null }])
  })
})
