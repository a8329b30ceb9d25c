// Groups A to E of the tests of lists: numbers, exclusive parameters, sorts, filters, cursors. See README.md.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, onEachEngine } from '../harness/engines.ts'
import { groupsService, rows, seen } from './groups.ts'
import { readList, type ListBody } from './seed.ts'

type Item = Record<string, unknown>

onEachEngine('proof of lists', (engine) => {
  const opened = groupsService(engine)

  const read = (path: string): Promise<ListBody> => readList(opened.service, path)
  const data = async (path: string): Promise<Item[]> => (await read(path)).data
  async function refusal(path: string): Promise<[number, string, string]> {
    const response = await opened.service.admin(path)
    const { code, source } = (await response.json()) as { code: string; source?: { parameter: string } }
    return [response.status, code, source?.parameter ?? '']
  }

  describe('A. numbers', () => {
    const pages: [string, number][] = [
      ['', 1],
      ['abc', 1],
      ['0', 1],
      ['-3', 1],
      ['-1e999', 1],
      ['0x2', 1],
      ['2;', 1],
      ['NaN', 1],
      ['null', 1],
      ['%00', 1],
      ['٢', 1],
      ['2.9', 2],
      ['%202', 2],
      ['2e0', 2],
      ['+2', 2],
    ]
    for (const path of ['/users', '/numbered', '/both'])
      test(`page of ${path}: only decimal numbers count, and nothing is an error`, async () => {
        for (const [text, page] of pages) {
          const { pagination } = await read(`${path}?limit=7&page=${text}`)
          assert.equal(pagination.page, page, `page=${text}`)
        }
        for (const text of ['1e9', '1e308', '1e999', '9007199254740993', '9'.repeat(400)]) {
          const { data, pagination } = await read(`${path}?limit=7&page=${text}`)
          assert.deepEqual([data, pagination.hasNext, pagination.total], [[], false, rows], `page=${text}`)
        }
      })

    test('bounds: a text that is not a number has no effect; a number out of range passes all rows or none', async () => {
      const all = (await data('/filtered?limit=100')).length
      const withSmall = (await data('/filtered?limit=100&minSmall=-1e9')).length
      for (const text of ['', 'abc', '0x1', '1;', 'NaN', 'Infinity', '1,5', '%00'])
        assert.equal((await data(`/filtered?limit=100&minSmall=${text}`)).length, all, text)
      assert.deepEqual(await data('/filtered?minSmall=1e999'), [])
      assert.deepEqual(await data('/filtered?belowSmall=-1e999'), [])
      assert.equal(
        (await data('/filtered?limit=100&minSmall=2.5')).length,
        (await data('/filtered?limit=100&minSmall=3')).length,
      )
      assert.ok(withSmall < all, 'null is neither above nor below')
    })
  })

  describe('B. exclusive parameters', () => {
    test('page and cursor together are refused, in any order and with any value', async () => {
      const { pageInfo } = await read('/both?limit=3')
      for (const query of [
        `page=2&cursor=${pageInfo.nextCursor}`,
        `cursor=${pageInfo.nextCursor}&page=2`,
        'page=&cursor=',
        'cursor=x&page=abc',
      ])
        assert.deepEqual(await refusal(`/both?${query}`), [400, 'invalid-parameter', 'page'], query)
    })

    test('in a list with one page style, the parameter of another has no effect', async () => {
      for (const [path, other] of [
        ['/users', 'cursor=x'],
        ['/numbered', 'cursor='],
        ['/products', 'page=3'],
        ['/api/posts', 'page=0'],
        ['/measurements', 'page=2'],
        ['/followed', 'page=2'],
        ['/events', 'page=2'],
      ] as const)
        assert.deepEqual(await read(`${path}?limit=5&${other}`), await read(`${path}?limit=5`), path)
    })
  })

  describe('C. sorts', () => {
    const same: [string, string][] = [
      ['price,price', 'price'],
      ['price,-price', 'price'],
      ['nothing,-price', '-price'],
      [' price , -name ', 'price,-name'],
      ['price,,name,', 'price,name'],
      ['price,stock,category', 'price'],
      [`${'price,'.repeat(1_000)}-name`, 'price,-name'],
      ['', 'createdAt'],
      [',,', 'createdAt'],
      ['-', 'createdAt'],
      ['--price', 'createdAt'],
      ['PRICE', 'createdAt'],
      ['id', 'createdAt'],
      ['__proto__,constructor,toString', 'createdAt'],
      ['price;drop table products', 'createdAt'],
      ['price desc', 'createdAt'],
    ]
    test('disallowed fields are dropped, and repeated fields count once', async () => {
      for (const [written, meant] of same) {
        const expected = await read(`/products?limit=9&sort=${meant}`)
        const sorted = await read(`/products?limit=9&sort=${encodeURIComponent(written)}`)
        assert.deepEqual(sorted, expected, written.slice(0, 40))
        // The same order is the same list: a cursor of the one is good for the other.
        const next = `limit=9&cursor=${sorted.pageInfo.nextCursor}`
        assert.deepEqual(
          await data(`/products?sort=${encodeURIComponent(meant)}&${next}`),
          await data(`/products?sort=${encodeURIComponent(written)}&${next}`),
        )
      }
    })

    test('a hidden field cannot be sorted by', async () => {
      assert.deepEqual(await read('/measurements?sort=owner'), await read('/measurements'))
    })
  })

  describe('D. filters', () => {
    test('texts are compared exactly: case, spaces, SQL and unstorable characters', async () => {
      const ofCategory = async (text: string): Promise<number> =>
        (await data(`/products?category=${text}`)).length
      assert.equal((await ofCategory('a')) + (await ofCategory('A')) + (await ofCategory('b')), rows)
      for (const text of [
        '',
        '%20a',
        'a%20',
        '%c3%a1',
        "a'%20or%20'1'='1",
        'a%25',
        '_',
        'a%00',
        '%ed%a0%80',
        '%ff',
        '%',
      ])
        assert.equal(await ofCategory(text), 0, text)
    })

    test('a cursor is bound to filters that have an effect', async () => {
      const { pageInfo } = await read('/filtered?limit=5')
      const next = `limit=5&cursor=${pageInfo.nextCursor}`
      for (const query of ['minSmall=abc', 'fine=yes', 'fine=', 'textless=1', 'text=', 'unknown=1'])
        assert.deepEqual(await data(`/filtered?${next}&${query}`), await data(`/filtered?${next}`), query)
      for (const query of ['minSmall=3', 'fine=true', 'textless=false', 'text=A', 'state=new', 'small=3'])
        assert.deepEqual(
          await refusal(`/filtered?${next}&${query}`),
          [400, 'invalid-cursor', 'cursor'],
          query,
        )
    })

    test('a text that is no value of the field matches nothing', async () => {
      for (const query of ['state=NEW', 'state=', 'small=x', 'id=1e999', 'id=abc', 'id=0x10', 'small=,'])
        assert.deepEqual(await data(`/filtered?${query}`), [], query)
    })

    test('every filter returns the right rows, alone and combined', async () => {
      const all = await data('/filtered?limit=100')
      const kept: [string, (item: Item) => boolean][] = [
        ['small=3,-2', ({ small }) => small === 3 || small === -2],
        ['fine=true', ({ fine }) => fine === true],
        ['fine=false', ({ fine }) => fine === false],
        ['state=done', ({ state }) => state === 'done'],
        ['minSmall=0', ({ small }) => small !== null && (small as number) >= 0],
        ['belowSmall=0', ({ small }) => small !== null && (small as number) < 0],
        ['textless=true', ({ text }) => text === null],
        ['textless=false', ({ text }) => text !== null],
        // The column has the collation nocase on SQLite.
        [
          'text=A',
          ({ text }) => text !== null && (engine.name === 'sqlite' ? /^a/i : /^A/).test(text as string),
        ],
      ]
      for (const [one, keepsOne] of kept)
        for (const [other, keepsOther] of kept) {
          if (one.split('=')[0] === other.split('=')[0] && one !== other) continue
          const query = one === other ? one : `${one}&${other}`
          const expected = all.filter((item) => keepsOne(item) && keepsOther(item))
          assert.deepEqual(await data(`/filtered?limit=100&${query}`), expected, query)
        }
    })
  })

  describe('E. cursors', () => {
    // Whether a cursor is genuine is decided before the database is asked.
    const signed = ['/products?sort=-price,name', '/api/posts?', '/measurements?sort=-at,text']
    for (const path of engine === engines[0] ? signed : []) {
      test(`${path}: no character can be changed, removed or added`, async () => {
        const { pageInfo } = await read(`${path}&limit=3`)
        const cursor = pageInfo.nextCursor!
        const changed = Array.from(cursor).flatMap((character, at) => [
          `${cursor.slice(0, at)}${character === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`,
          cursor.slice(0, at),
          `${cursor.slice(0, at)}${cursor.slice(at + 1)}`,
        ])
        for (const bad of [
          ...changed,
          `${cursor}A`,
          `${cursor}=`,
          cursor.toLowerCase(),
          cursor.toUpperCase(),
        ])
          assert.equal((await opened.service.admin(`${path}&limit=3&cursor=${bad}`)).status, 400, bad)
        assert.deepEqual(await refusal(`${path}&limit=3&cursor=${changed[0]!}`), [
          400,
          'invalid-cursor',
          'cursor',
        ])
      })
    }

    test('a cursor of a caller with other rows is refused', async () => {
      seen.owner = 'ada'
      const first = await read('/whose?limit=3')
      const mine = `/whose?limit=3&cursor=${first.pageInfo.nextCursor}`
      assert.equal((await data(mine)).length, 3)
      seen.owner = 'bob'
      assert.deepEqual(await refusal(mine), [400, 'invalid-cursor', 'cursor'])
      seen.owner = 'ada'
      assert.equal((await data(mine)).length, 3)
    })

    test('a cursor of another list of the same table is refused', async () => {
      const { pageInfo } = await read('/measurements?limit=3')
      for (const path of ['/both', '/filtered', '/whose', '/followed'])
        assert.deepEqual(
          await refusal(`${path}?limit=3&cursor=${pageInfo.nextCursor}`),
          [400, 'invalid-cursor', 'cursor'],
          path,
        )
    })

    test('a cursor contains only the keys of the order, no hidden fields', async () => {
      const { pageInfo } = await read('/whose?limit=3&sort=-day')
      const held = JSON.parse(Buffer.from(pageInfo.nextCursor!, 'base64').toString()) as object
      assert.deepEqual(Object.keys(held), ['day', 'id', '$sig'])
    })
  })
})
