// PostgreSQL can parse the SQL of all pages: it checks the form of statements when a function is created, and runs none. What makes tables
// runs on both engines, which migrations of a project may meet.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { onPostgres, postgres } from '../harness/engines.ts'
import { allPages, blocksOf } from './documented/blocks.ts'

const blocks = allPages.flatMap(blocksOf).filter(({ language }) => language === 'sql')

/** Commands and variables of psql are no SQL. */
const statements = (text: string): string =>
  text
    .replaceAll(/^\\.*$/gm, '')
    .replaceAll(/:(?='\w+')/g, '')
    .trim()
    .replace(/;?$/, ';')

describe('the SQL of pages', onPostgres, () => {
  let client: pg.Client
  let drop: () => Promise<void>
  before(async () => {
    const database = await postgres!.createDatabase()
    drop = () => database.drop()
    client = new pg.Client(database.url)
    await client.connect()
  })
  after(async () => {
    await client.end()
    await drop()
  })

  const faultOf = async (text: string): Promise<string | undefined> => {
    const body = `begin if false then ${statements(text)} end if; end`
    const create = `create or replace function parsed() returns void language plpgsql as $page$ ${body} $page$`
    return client.query(create).then(
      () => undefined,
      (error: Error) => error.message,
    )
  }

  test('can be parsed', async () => {
    assert.ok(blocks.length >= 10, `${blocks.length} blocks`)
    const faults: [string, string][] = []
    for (const { from, text } of blocks) {
      const fault = await faultOf(text)
      if (fault !== undefined) faults.push([from, fault])
    }
    assert.deepEqual(faults, [])
  })

  const creating = blocks.filter(({ text }) => /^(?:--.*\n)*create table /.test(text))
  for (const { from, text } of creating)
    test(`${from} runs on both engines`, async () => {
      await client.query('begin')
      try {
        await client.query(text)
      } finally {
        await client.query('rollback')
      }
      const sqlite = new DatabaseSync(':memory:')
      sqlite.exec(text)
      sqlite.close()
    })

  test('and SQL that cannot be is found', async () =>
    assert.match((await faultOf('selec 1 frm x')) ?? '', /syntax error/))
})
