// Groups H to J of the tests of lists: concurrency, HTTP, limits. See README.md.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { onEachEngine } from '../harness/index.ts'
import { everyPath, groupsService, rows } from './groups.ts'
import { insertPosts, insertProducts, post, product, readList, walk, type ListBody } from './seed.ts'

onEachEngine('proof of lists', (engine) => {
  const { run, ...opened } = groupsService(engine)

  const read = (path: string): Promise<ListBody> => readList(opened.service, path)
  describe('H. concurrency', () => {
    test('walks beside writers visit each remaining row once', async () => {
      const [stays, moves] = ['stays', 'moves']
      await insertProducts(
        opened.service.database,
        Array.from({ length: 80 }, (_, index) =>
          product(`h${index}`, { category: stays, price: index % 5, name: `n${index % 3}` }),
        ),
      )
      let writing = true
      const writer = async (which: number): Promise<void> => {
        for (let turn = 0; writing; turn += 1) {
          // SQLite answers at once: without a turn of the loop no request would be read.
          await nextTurn()
          const id = `w${which}-${turn % 7}`
          await run(`delete from products where id = '${id}'`)
          await insertProducts(opened.service.database, [
            product(id, { category: moves, price: (turn * 3) % 5, name: `n${turn % 3}` }),
          ])
        }
      }
      const writers = [0, 1, 2].map(writer)
      try {
        for (const sort of ['price', '-price,name', 'name,-price', '-createdAt']) {
          const seen = (await walk(opened.service, `/products?sort=${sort}&limit=6`)).flat()
          const ids = seen.filter(({ category }) => category === stays).map(({ id }) => id)
          assert.equal(ids.length, 80, `sort=${sort}: each once`)
          assert.equal(new Set(ids).size, 80)
          assert.ok(seen.every(({ id, category }) => category !== moves || /^w\d-\d$/.test(String(id))))
        }
      } finally {
        writing = false
        await Promise.all(writers)
        await run(`delete from products where category in ('${stays}', '${moves}')`)
      }
    })

    test('maintained totals are exact after concurrent commits and rollbacks', async () => {
      await Promise.all(
        [0, 1, 2, 3].map(async (which) => {
          for (let turn = 0; turn < 8; turn += 1) {
            const id = `'t${which}-${turn}'`
            const insert = `insert into users (id, name, provider, provider_id, role, created_at) values (${id}, 'n', 'p', ${id}, 'user', 1)`
            const undone = new Error('undone')
            await opened.service.database
              .transaction(async (tx) => {
                await sql.raw(insert).execute(tx)
                if (turn % 2 === 1) throw undone
              })
              .catch((error: unknown) => assert.equal(error, undone))
            const { pagination } = await read('/users?limit=1')
            assert.ok(pagination.total >= rows && pagination.total <= rows + 16)
          }
        }),
      )
      assert.equal((await read('/users?limit=1')).pagination.total, rows + 16)
      await run(`delete from users where name = 'n'`)
      assert.equal((await read('/users?limit=1')).pagination.total, rows)
    })
  })

  describe('I. HTTP', () => {
    test('a change is visible to the next request with any entity tag', async () => {
      const { database } = opened.service
      const change: Record<string, () => Promise<unknown>> = {
        '/users': () => run(`update users set name = 'Changed' where id = 'u000'`),
        '/products': () =>
          insertProducts(database, [product('zz', { created_at: '2020-01-01T00:00:00.000000Z' })]),
        '/api/posts': () => insertPosts(database, [post('zz', '2030-01-01T00:00:00.000000Z')]),
        '/events': () => run(`update events set type = 'changed' where event_id = 'e000'`),
        '/measurements?sort=id': () => run('update measurements set small = 99 where small = 0'),
      }
      for (const [path, write] of Object.entries(change)) {
        const tag = (await opened.service.admin(path)).headers.get('etag')!
        await write()
        const changed = await opened.service.admin(path, { headers: { 'if-none-match': tag } })
        assert.deepEqual([changed.status, changed.headers.get('etag') === tag], [200, false], path)
      }
    })
  })

  describe('links', () => {
    const linksOf = async (path: string): Promise<Record<string, string>> => {
      const header = (await opened.service.fetch(path)).headers.get('link') ?? ''
      return Object.fromEntries(
        Array.from(header.matchAll(/<([^>]+)>; rel="(\w+)"/g), ([, to, name]) => [name!, to!]),
      )
    }

    test('beyond the last page, `prev` leads to the last page', async () => {
      const page = (number: number): string => `/numbered?page=${number}&limit=50`
      const last = { first: page(1), last: page(2) }
      assert.deepEqual(await linksOf(page(2)), { prev: page(1), ...last })
      assert.deepEqual(await linksOf(page(3)), { prev: page(2), ...last })
      assert.deepEqual(await linksOf(page(1_000)), { prev: page(2), ...last })
      assert.deepEqual((await read(last.last)).data.length, rows - 50)
    })

    test('a header of more than 4,000 characters is left out; the body has the cursor', async () => {
      const path = (length: number): string => `/measurements?limit=5&fields=${'x'.repeat(length)}`
      const headerOf = async (length: number): Promise<string | null> =>
        (await opened.service.fetch(path(length))).headers.get('link')
      const fixed = (await headerOf(100))!.length - 100
      assert.equal((await headerOf(4_000 - fixed))!.length, 4_000)
      assert.equal(await headerOf(4_001 - fixed), null)
      assert.notEqual((await read(path(4_001 - fixed))).pageInfo.nextCursor, null)
    })
  })

  describe('J. limits', () => {
    for (const path of everyPath)
      test(`${path}: the first hundred parameters are read`, async () => {
        const fallback = (await read(path)).data.length
        const padding = (count: number): string =>
          Array.from({ length: count }, (_, index) => `p${index}=1`).join('&')
        assert.equal((await read(`${path}?${padding(99)}&limit=3`)).data.length, 3)
        assert.equal((await read(`${path}?${padding(100)}&limit=3`)).data.length, fallback, 'not read')
      })

    test('a URL above 16 KiB is refused with a problem, and one below is accepted', async () => {
      const long = await fetch(new URL(`/products?x=${'y'.repeat(17_000)}`, opened.service.baseUrl))
      assert.equal(long.status, 431)
      assert.equal(((await long.json()) as { code: string }).code, 'headers-too-large')
      assert.equal((await opened.service.fetch(`/products?x=${'y'.repeat(14_000)}`)).status, 200)
    })

    test('a parameter has at most fifty values; more are refused', async () => {
      const others = (count: number): string =>
        Array.from({ length: count }, (_, index) => 1_000 + index).join(',')
      assert.ok((await read(`/filtered?small=${others(49)},3`)).data.length > 0)
      const refused = await opened.service.fetch(`/filtered?small=${others(50)},3`)
      assert.equal(refused.status, 400)
      const { code, source, detail } = (await refused.json()) as {
        code: string
        source: { parameter: string }
        detail: string
      }
      assert.deepEqual([code, source.parameter], ['invalid-parameter', 'small'])
      assert.match(detail, /more than 50 values/)
    })
  })
})
