// Values that JSON has no form for, or JavaScript none that is exact.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const digits =
  '{"id":9007199254740993,"exact":[0.1000000000000000055,-1.50,12345678901.2345678],"huge":1e999,"small":1}'

onEachEngine('values as they are stored', (engine) => {
  const stored = list({
    path: '/stored',
    table: 'stored',
    access: 'public',
    fields: { id: { type: 'integer' }, ratio: { type: 'number' }, extra: { type: 'json' } },
    key: 'id',
    exports: true,
  })
  const opened = listService(engine, [stored], async (database) => {
    const sqlite = engine.name === 'sqlite'
    await database.transaction(async (tx) => {
      await sql
        .raw(
          `create table stored (id int not null primary key, ratio double precision not null, extra ${sqlite ? 'text' : 'json'} not null)`,
        )
        .execute(tx)
      const infinity = sqlite ? '9e999' : `'Infinity'`
      await sql
        .raw(`insert into stored values (1, ${infinity}, '${digits}'), (2, 0.5, '{"price":1.50}')`)
        .execute(tx)
      if (sqlite) await sql`insert into stored values (3, 0.5, '{broken')`.execute(tx)
    })
  })

  test('the numbers within JSON keep their digits, in pages and exports', async () => {
    const page = await (await opened.service.fetch('/stored?fields=extra&limit=1')).text()
    assert.ok(page.startsWith(`{"data":[{"extra":${digits}}]`), page)
    const lines = (await (await opened.service.fetch('/stored.ndjson?fields=extra')).text()).split('\n')
    assert.equal(lines[0], `{"extra":${digits}}`)
    // No long number tells that this one has a digit to lose.
    assert.equal(lines[1], '{"extra":{"price":1.50}}')
    const [, line] = (await (await opened.service.fetch('/stored.csv?fields=extra')).text()).split('\r\n')
    assert.equal(line, `"${digits.replaceAll('"', '""')}"`)
  })

  test('invalid JSON is shown as text and does not fail the page', async () => {
    if (engine.name === 'postgres') return
    const { data } = await readList(opened.service, '/stored?fields=extra')
    assert.equal(data[2]!['extra'], '{broken')
  })

  test('NaN and infinities are null, as documented', async () => {
    // Every answer of a test is held against the description.
    const { data } = await readList(opened.service, '/stored?fields=id,ratio&limit=2')
    assert.deepEqual(data, [
      { id: 1, ratio: null },
      { id: 2, ratio: 0.5 },
    ])
  })
})
