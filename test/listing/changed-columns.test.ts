// Tables are their owner's, who changes them while the service runs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { engines, startTestService } from '../harness/index.ts'
import { readList } from './seed.ts'

const notes = list({
  path: '/notes',
  table: 'notes',
  access: 'public',
  fields: { id: { type: 'integer' }, text: { type: 'text' } },
  key: 'id',
})

for (const engine of engines.filter(({ name }) => name === 'postgres'))
  test('the type of a column may change under prepared statements', async (t) => {
    const own = await engine.createMigratedDatabase()
    const { url } = own
    const database = await openDatabase(url)
    const run = (statement: string) =>
      database.transaction((tx) =>
        sql
          .raw(statement)
          .execute(tx)
          .then(() => undefined),
      )
    await run('create table notes (id int primary key, text varchar(5) not null)')
    await run(`insert into notes values (1, 'one')`)
    const service = await startTestService(engine, {
      databaseUrl: url,
      config: { listing: { lists: [notes] } },
    })
    t.after(async () => {
      await service.stop(5_000)
      await database.close()
      await own.drop()
    })

    const read = async () => (await readList(service, '/notes')).data
    // From some uses on, a statement is prepared.
    for (let time = 0; time < 10; time += 1) assert.deepEqual(await read(), [{ id: 1, text: 'one' }])
    await run('alter table notes alter column text type varchar(50)')
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await read(), [{ id: 1, text: 'one' }])
  })
