// Full text: PostgreSQL's own, and FTS5 on SQLite, by the same words.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import type { Database } from '../../src/storage/database.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { readList, walk } from './seed.ts'
import { listService } from './service.ts'

const texts = [
  'The gate of the fortress is closed at night',
  'A postern is the side gate that messengers use',
  'Messengers ride at night, and the GATE opens',
  'Brücke über den Fluß; naïve café',
  'Nothing of note (really): 100% "quoted" OR AND NOT near*',
  '',
]
const notes = list({
  path: '/notes',
  strict: false,
  table: 'notes',
  access: 'public',
  fields: { id: { type: 'integer' }, body: { type: 'text', nullable: true } },
  key: 'id',
  filters: { q: { kind: 'search', field: 'body' }, from: { kind: 'atLeast', field: 'id' } },
})

const letters = list({
  path: '/letters',
  table: 'letters',
  access: 'public',
  fields: { id: { type: 'integer' }, subject: { type: 'text' }, body: { type: 'text' } },
  key: 'id',
  filters: { subject: 'search', body: 'search' },
})

const pages = list({
  path: '/pages',
  table: 'pages',
  access: 'public',
  fields: { id: { type: 'integer' }, body: { type: 'text' } },
  key: 'id',
  filters: { q: { kind: 'search', field: 'body' }, from: { kind: 'atLeast', field: 'id' } },
})

const articles = (engine: 'sqlite' | 'postgres') =>
  list({
    path: '/articles',
    table: 'articles',
    access: 'public',
    fields: { id: { type: 'integer' }, body: { type: 'text' } },
    key: 'id',
    filters: {
      q: { kind: 'search', field: 'body', ...(engine === 'postgres' && { configuration: 'english' }) },
      id: 'equals',
    },
    exports: true,
  })

type Run = (...statements: string[]) => Promise<void>

async function prepareLetters(database: Database, run: Run): Promise<void> {
  await run('create table letters (id integer primary key, subject text not null, body text not null)')
  await run(`insert into letters values (1, 'gate', 'night'), (2, 'night', 'gate'), (3, 'gate', 'gate')`)
  if (database.engine !== 'sqlite') return
  const before = await checkList(database, readLists({ lists: [letters] })[0]!)
  for (const fault of before.faults) assert.match(fault, /using fts5\("subject", "body", content="letters"\)/)
  const faults = async (columns: string): Promise<string> => {
    await run(`create virtual table letters_search using fts5(${columns}, content=letters)`)
    return (await checkList(database, readLists({ lists: [letters] })[0]!)).faults.join()
  }
  assert.equal(await faults('subject'), 'the FTS5 table letters_search has no column body to search body in')
  await run('drop table letters_search')
  assert.equal(await faults('subject, body'), '')
  await run(`insert into letters_search (letters_search) values ('rebuild')`)
}

async function prepareNotes(database: Database, run: Run): Promise<void> {
  await run('create table notes (id integer primary key, body text)')
  const declared = readLists({ lists: [notes] })[0]!
  const before = await checkList(database, declared)
  if (database.engine === 'sqlite') {
    assert.match(before.faults.join(), /there is no FTS5 table notes_search to search body in/)
    await run(`create virtual table notes_search using fts5(body, content=notes, content_rowid=id)`)
    for (const [event, row, how] of [
      ['insert', 'new', ''],
      ['delete', 'old', `'delete', `],
    ] as const)
      await run(`create trigger notes_${event} after ${event} on notes begin
        insert into notes_search (${how === '' ? '' : 'notes_search, '}rowid, body) values (${how}${row}.id, ${row}.body); end`)
  } else {
    const advice = before.missing.find(({ queries }) => queries[0] === 'q=…')
    assert.match(advice!.statement, /using gin \(to_tsvector\('simple', "body"\)\);$/)
    await run(advice!.statement.replace(' concurrently', ''))
  }
  const after = await checkList(database, declared)
  assert.deepEqual([after.faults, after.missing], [[], []])
  const explained = await explainList(database, after.list)
  const steps = explained.find(({ query }) => query === 'q=…')!.steps.join('; ')
  assert.match(
    steps,
    database.engine === 'sqlite' ? /notes_search VIRTUAL TABLE/ : /Bitmap .* on notes_search_body|notes_pkey/,
  )
  for (const [index, text] of texts.entries())
    await database.transaction((tx) => sql`insert into notes values (${index + 1}, ${text})`.execute(tx))
  await run('insert into notes values (7, null)')
}

onEachEngine('a search', (engine) => {
  const lists = [notes, letters, pages, articles(engine.name)]
  const opened = listService(engine, lists, async (database, run) => {
    await prepareLetters(database, run)
    await prepareNotes(database, run)
    await run(
      'create table pages (id integer primary key, body text not null)',
      `insert into pages values (1, 'mail ada@example.com'), (2, 'see example.com/price-list'),
        (3, 'pi is 3.14'), (4, 'of 2026-01-31, version 10.2.7'), (5, 'a well-known word')`,
      'create table articles (id integer primary key, body text not null)',
      `insert into articles values (1, 'The gate of the fortress'), (2, 'Gates are to be closed')`,
    )
    if (engine.name === 'sqlite')
      await run(
        'create virtual table pages_search using fts5(body, content=pages)',
        `insert into pages_search (pages_search) values ('rebuild')`,
        `create virtual table articles_search using fts5(body, content=articles, tokenize='trigram')`,
        `insert into articles_search (articles_search) values ('rebuild')`,
      )
  })
  const found = async (path: string): Promise<unknown[]> =>
    each((await readList(opened.service, path)).data, 'id')
  const ids = (query: string) => found(`/notes?${query}`)

  test('finds the rows with all words, in any order and case', async () => {
    assert.deepEqual(await ids('q=gate'), [1, 2, 3])
    assert.deepEqual(await ids('q=night+gate'), [1, 3])
    assert.deepEqual(await ids('q=NIGHT,messengers'), [3])
    assert.deepEqual(await ids('q=fluß'), [4])
    assert.deepEqual(await ids('q=gat'), [], 'a word, and not its beginning')
    assert.deepEqual(await ids('q=gate&from=2'), [2, 3])
  })

  test('operators of the engines are words or ignored; a text without words finds nothing', async () => {
    for (const query of [
      'gate OR fortress',
      'gate & !night',
      'gate* NEAR night',
      '"gate',
      "gate') --",
      'body:gate',
    ]) {
      const response = await opened.service.fetch(`/notes?q=${encodeURIComponent(query)}`)
      assert.equal(response.status, 200, query)
    }
    assert.deepEqual(await ids(`q=${encodeURIComponent('note OR')}`), [5])
    assert.deepEqual(await ids('q=%20*()%22'), [])
    assert.equal((await ids('q=%20')).length, 7, 'an empty field of a form')
    assert.deepEqual(await ids('q=gate%00'), [])
    assert.equal((await opened.service.fetch(`/notes?q=${'gate+'.repeat(1_500)}`)).status, 200)
  })

  test('results have pages', async () => {
    const pages = await walk(opened.service, '/notes?q=gate&limit=1')
    assert.deepEqual(each(pages.flat(), 'id'), [1, 2, 3])
  })

  test('each searches its own field', async () => {
    const ids = (query: string) => found(`/letters?${query}`)
    assert.deepEqual(await ids('subject=gate'), [1, 3])
    assert.deepEqual(await ids('body=gate'), [2, 3])
    assert.deepEqual(await ids('subject=gate&body=night'), [1])
  })

  test('addresses, numbers and dates are found as they are written', async () => {
    const ids = (q: string) => found(`/pages?from=1&q=${encodeURIComponent(q)}`)
    assert.deepEqual(await ids('ada@example.com'), [1])
    assert.deepEqual(await ids('example.com/price-list'), [2])
    assert.deepEqual(await ids('3.14'), [3])
    assert.deepEqual(await ids('2026-01-31'), [4])
    assert.deepEqual(await ids('10.2.7 version'), [4])
    assert.deepEqual(await ids('well-known'), [5])
    assert.deepEqual(await ids('word, known'), [5])
    assert.deepEqual(await ids('ada@example.org'), [])
  })

  const read = async (path: string) => {
    const response = await opened.service.fetch(path)
    return { status: response.status, text: await response.text() }
  }

  test('a search for only ignored words is an error that names them, also in an export', async () => {
    for (const path of ['/articles?q=the+of', '/articles?q=of,THE&id=1', '/articles.csv?q=of+the'].map(
      (one) => (engine.name === 'sqlite' ? one.replace(/the/i, 'be') : one),
    )) {
      const { status, text } = await read(path)
      assert.equal(status, 400, path)
      const { code, detail } = JSON.parse(text) as Record<string, string>
      assert.equal(code, 'invalid-parameter')
      assert.match(detail!, /`q` has only words that .*: (?:of, \w+|\w+, of)\. /i)
      assert.match(detail!, engine.name === 'sqlite' ? /trigram index/ : /configuration english/)
    }
    for (const q of ['!!!', '()', '%CC%81']) {
      const { status, text } = await read(`/articles?q=${q}`)
      assert.equal(status, 400, q)
      assert.match(text, /not a text with a letter or a digit/)
    }
  })

  test('a search with an effective word returns 200, even if it finds nothing', async () => {
    const ids = (q: string) => found(`/articles?q=${q}`)
    assert.deepEqual(await ids('gate'), [1, 2])
    assert.deepEqual(await ids('of+fortress'), [1])
    assert.deepEqual(await ids('tower'), [])
    assert.deepEqual(await ids('%20'), [1, 2], 'an empty field of a form')
    assert.equal((await read('/articles.csv?q=tower')).text, 'id,body\r\n')
  })
})
