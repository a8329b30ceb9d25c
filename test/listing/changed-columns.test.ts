// Tables are their owner's, who changes them while the service runs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onPostgres, postgres } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const notes = list({
  path: '/notes',
  table: 'notes',
  access: 'public',
  fields: { id: { type: 'integer' }, text: { type: 'text' } },
  key: 'id',
})

describe('columns that change', onPostgres, () => {
  const opened = listService(
    postgres!,
    [notes],
    [
      'create table notes (id int primary key, text varchar(5) not null)',
      `insert into notes values (1, 'one')`,
    ],
  )

  test('the type of a column may change under prepared statements', async () => {
    const read = async () => (await readList(opened.service, '/notes')).data
    // From some uses on, a statement is prepared.
    for (let time = 0; time < 10; time += 1) assert.deepEqual(await read(), [{ id: 1, text: 'one' }])
    await opened.run('alter table notes alter column text type varchar(50)')
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await read(), [{ id: 1, text: 'one' }])
  })
})
