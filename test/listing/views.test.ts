// What a view shows may change while nothing is written.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { list } from 'postern'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'

const text = { type: 'text' } as const
const id = { type: 'integer' } as const

onEachEngine('lists over views', (engine) => {
  let own: TestDatabase
  let service: TestService

  before(async () => {
    own = await engine.createDatabase()
    const database = await openDatabase(own.url)
    // A clock would do as well; this one moves at once.
    const chance = engine.name === 'sqlite' ? 'random()' : 'gen_random_uuid()'
    await database.transaction(async (tx) => {
      await sql`create table offers (id int not null primary key)`.execute(tx)
      await sql`insert into offers values (1)`.execute(tx)
      await sql.raw(`create view lots as select id, cast(${chance} as text) as lot from offers`).execute(tx)
    })
    await database.close()
    const lots = { table: 'lots', fields: { id, lot: text } } as const
    service = await startTestService(engine, {
      databaseUrl: own.url,
      config: {
        listing: {
          lists: [
            list({ ...lots, path: '/lots', access: 'public', key: 'id' }),
            list({
              path: '/offers',
              table: 'offers',
              access: 'public',
              key: 'id',
              fields: { id },
              expand: { lot: { ...lots, from: 'id', many: { order: ['id'] } } },
            }),
          ],
        },
      },
    })
  })
  after(async () => {
    await service.stop(5_000)
    await own.drop()
  })

  const ask = (path: string, tag?: string) =>
    service.fetch(path, tag === undefined ? {} : { headers: { 'if-none-match': tag } })

  test('a view is read each time, since another answer needs no write', async () => {
    for (const path of ['/lots', '/offers?expand=lot']) {
      const first = await ask(path)
      let tag = first.headers.get('etag')!
      let said = await first.text()
      for (let time = 0; time < 3; time += 1) {
        const next = await ask(path, tag)
        assert.equal(next.status, 200, path)
        const text = await next.text()
        assert.notEqual(text, said)
        said = text
        tag = next.headers.get('etag')!
      }
    }
  })

  test('what a view shows unchanged is not sent again', async () => {
    const first = await ask('/lots?fields=id')
    const again = await ask('/lots?fields=id', first.headers.get('etag')!)
    assert.deepEqual([again.status, await again.text()], [304, ''])
  })
})
