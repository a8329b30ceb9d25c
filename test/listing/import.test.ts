import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  importFile,
  type ImportKind,
  type ImportResult,
  targetOf,
} from '../../src/listing/importing/import-file.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { postern } from '../cli/command.ts'
import { each, onEachEngine, started, temporaryFolder, fields } from '../harness/index.ts'

onEachEngine('postern import', (engine) => {
  const folder = temporaryFolder()

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  beforeEach(() =>
    database.transaction(async (tx) => {
      for (const table of ['products', 'posts', 'users'] as const) await tx.deleteFrom(table).execute()
    }),
  )

  async function run(
    kind: ImportKind,
    name: string,
    content: string | Buffer,
    signal?: AbortSignal,
  ): Promise<ImportResult & { told: string[] }> {
    const file = join(folder, name)
    writeFileSync(file, content)
    const told: string[] = []
    const result = await importFile({
      database,
      clock: systemClock,
      target: targetOf(kind, database),
      file,
      format: name.endsWith('.csv') ? 'csv' : 'ndjson',
      onFault: (line, why) => told.push(`${line}: ${why}`),
      onProgress: () => undefined,
      ...(signal && { signal }),
    })
    return { ...result, told }
  }
  // SQLite's rows have no prototype, which a deep comparison sees.
  const plain = <T extends object>(rows: readonly T[]): T[] => rows.map((row) => ({ ...row }))
  const products = async () =>
    plain(await database.reader.selectFrom('products').selectAll().orderBy('id').execute())
  const posts = async () =>
    plain(await database.reader.selectFrom('posts').selectAll().orderBy('id').execute())
  const lines = (...values: unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

  test('NDJSON: offsets become UTC and microseconds are kept', async () => {
    const { imported, told } = await run(
      'products',
      'a.ndjson',
      lines(
        {
          id: 'a',
          category: 'x',
          price: 1.5,
          stock: 2.25,
          name: 'A',
          createdAt: '2026-01-31T09:30:00.000137+01:00',
        },
        {
          id: 'b',
          category: 'x',
          price: 0.1,
          stock: -2,
          name: '',
          createdAt: '2026-01-31T00:00:00-0530',
          more: { than: 'asked' },
        },
      ),
    )
    assert.deepEqual([imported, told], [2, []])
    assert.deepEqual(await products(), [
      {
        id: 'a',
        category: 'x',
        price: 1.5,
        stock: 2.25,
        name: 'A',
        created_at: '2026-01-31T08:30:00.000137Z',
      },
      { id: 'b', category: 'x', price: 0.1, stock: -2, name: '', created_at: '2026-01-31T05:30:00.000000Z' },
    ])
  })

  test('invalid lines of NDJSON are reported with number and reason, and the rest is imported', async () => {
    const good = { id: 'a', category: 'x', price: 1, stock: 1, name: 'A', createdAt: '2026-01-31' }
    const content = Buffer.concat([
      Buffer.from(lines({ ...good, id: 'first' })),
      Buffer.from('\n{"id":\n[1]\nnull\n"text"\n'),
      Buffer.from(
        lines(
          { ...good, price: '1' },
          { ...good, price: undefined },
          { ...good, stock: '1.5' },
          { ...good, id: 7 },
          { ...good, id: '' },
          { ...good, name: 'nul\u0000' },
          { ...good, name: '\ud800' },
          { ...good, createdAt: '2026-02-30' },
          { ...good, createdAt: '2026-01-01T00:00:00' },
          { ...good, createdAt: '2026-01-01T00:00:00.1234567Z' },
        ),
      ),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(`"${'x'.repeat(2 ** 20)}"\n`),
      Buffer.from(JSON.stringify({ ...good, id: 'last, without a line end' })),
    ])
    const { imported, faults, told } = await run('products', 'bad.ndjson', content)
    assert.equal(imported, 2)
    assert.equal(faults, told.length)
    const expected = [
      /^3: is not JSON/,
      /^4: is not a JSON object/,
      /^5: is not a JSON object/,
      /^6: is not a JSON object/,
      /^7: price /,
      /^8: .*price/,
      /^9: stock /,
      /^10: id /,
      /^11: id /,
      /^12: name .*cannot be stored/,
      /^13: name .*cannot be stored/,
      /^14: createdAt .*day/,
      /^15: createdAt .*offset/,
      /^16: createdAt .*microsecond/,
      /^17: is not UTF-8/,
      /^18: is longer/,
    ]
    assert.equal(told.length, expected.length, told.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(told[index]!, pattern)
  })

  test('faulty CSV records are reported by their first line', async () => {
    const content = Buffer.concat([
      Buffer.from(
        'id,category,price,stock,name,createdAt\r\na,x,1,1,"two\r\nlines",2026-01-01\r\nb,x,many,1,n,2026-01-01\r\n',
      ),
      Buffer.from(
        'c,x,1,1,"two\r\nlines",never\r\n\r\nd,x\r\ne,x,,1,n,2026-01-01\r\nf,x,0x10,1,n,2026-01-01\r\ng,x,1,1,',
      ),
      Buffer.from([0xff]),
      Buffer.from(',2026-01-01\r\nh,x,1,1,n,2026-01-01\r\ni,x,1,1,"open\r\nj,x,1,1,n,2026-01-01\r\n'),
    ])
    const { imported, told } = await run('products', 'bad.csv', content)
    assert.deepEqual(each(await products(), 'id'), ['a', 'h', 'j'])
    assert.equal(imported, 3)
    const expected = [
      /^4: price/,
      /^5: createdAt/,
      /^8: has 2 fields/,
      /^9: price/,
      /^10: price/,
      /^11: is not UTF-8/,
      /^13: has a quote that is not closed/,
    ]
    assert.equal(told.length, expected.length, told.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(told[index]!, pattern)
  })

  test('a second run duplicates nothing and updates changes', async () => {
    const post = { _id: 'n1', title: 'News', body: 'Text', createdAt: '2026-01-31T08:30:00.000137Z' }
    await run('posts', 'p.ndjson', lines(post, { ...post, _id: 'n2', createdAt: undefined }))
    const first = await posts()
    await run(
      'posts',
      'p.ndjson',
      lines({ ...post, title: 'Old news' }, { ...post, _id: 'n2', createdAt: undefined }),
    )
    assert.deepEqual(await posts(), [{ ...first[0]!, title: 'Old news' }, first[1]])
  })

  test('of a repeated key in one file, the last line counts', async () => {
    const good = { id: 'a', category: 'x', price: 1, stock: 1, name: 'first', createdAt: '2026-01-31' }
    await run('products', 'twice.ndjson', lines(good, { ...good, name: 'second' }))
    assert.deepEqual(each(await products(), 'name'), ['second'])
  })

  test('users: an id that is a number becomes its digits, as at a sign-in', async () => {
    const { imported, told } = await run(
      'users',
      'numbers.ndjson',
      [
        '{"provider":"github","providerId":7,"name":"A"}',
        '{"provider":"github","providerId":12345678901234567891}',
        '{"provider":"github","providerId":12345678901234567890}',
        '{"provider":"github","providerId":"7","name":"B"}',
        '{"provider":"github","providerId":7.5}',
        '{"provider":"github","providerId":true}',
      ].join('\n'),
    )
    assert.equal(imported, 4)
    assert.deepEqual(
      told.map((line) => line.slice(0, 13)),
      ['5: providerId', '6: providerId'],
    )
    const rows = await database.reader
      .selectFrom('users')
      .select(['provider_id', 'name'])
      .orderBy('provider_id')
      .execute()
    assert.deepEqual(plain(rows), [
      { provider_id: '12345678901234567890', name: null },
      { provider_id: '12345678901234567891', name: null },
      { provider_id: '7', name: 'B' },
    ])
  })

  test('users: the pair (provider, providerId) is the key; the e-mail address is not', async () => {
    const csv =
      'email,name,provider,providerId\na@example.com,Ann,google,1\na@example.com,Ann,github,1\n,,google,2\nb@example.com,Bob,,3\n'
    const { imported, told } = await run('users', 'u.csv', csv)
    assert.equal(imported, 3)
    assert.match(told.join(), /^5: provider /)
    const users = () => database.reader.selectFrom('users').selectAll().orderBy('id').execute()
    const identities = () => database.reader.selectFrom('identities').selectAll().orderBy('user_id').execute()
    const before = { users: await users(), identities: await identities() }
    assert.deepEqual(fields(before.users, 'email', 'name', 'provider', 'provider_id', 'role'), [
      ['a@example.com', 'Ann', 'google', '1', 'user'],
      ['a@example.com', 'Ann', 'github', '1', 'user'],
      [null, null, 'google', '2', 'user'],
    ])
    assert.deepEqual(each(before.identities, 'user_id'), each(before.users, 'id'))
    // Nobody but the provider says that an address is the user's.
    assert.ok(before.identities.every(({ email_verified }) => email_verified === 0))

    await run('users', 'u.csv', csv)
    assert.deepEqual({ users: await users(), identities: await identities() }, before)
    await run('users', 'u.csv', csv.replace('Ann', 'Anna'))
    assert.deepEqual(
      fields(await users(), 'id', 'name'),
      before.users.map(({ id }, index) => [id, ['Anna', 'Ann', null][index]]),
    )
  })

  test('users: what a file does not say stays, and an address is only doubted when it changes', async () => {
    const known = async () => {
      const users = await database.reader.selectFrom('users').select(['email', 'name']).execute()
      const identities = await database.reader
        .selectFrom('identities')
        .select(['email', 'name', 'email_verified'])
        .execute()
      return { users: plain(users), identities: plain(identities) }
    }
    const both = (email: string | null, name: string | null, email_verified: number) => ({
      users: [{ email, name }],
      identities: [{ email, name, email_verified }],
    })
    const user = { provider: 'google', providerId: 'k1' }
    await run('users', 'k.ndjson', lines({ ...user, email: 'k@example.com', name: 'Kay' }))
    // As after a sign-in.
    await database.transaction((tx) => tx.updateTable('identities').set({ email_verified: 1 }).execute())

    await run('users', 'k.csv', 'provider,providerId\ngoogle,k1\n')
    assert.deepEqual(await known(), both('k@example.com', 'Kay', 1))
    await run('users', 'k.csv', 'provider,providerId,name\ngoogle,k1,Katherine\n')
    assert.deepEqual(await known(), both('k@example.com', 'Katherine', 1))
    await run('users', 'k.csv', 'provider,providerId,email\ngoogle,k1,new@example.com\n')
    assert.deepEqual(await known(), both('new@example.com', 'Katherine', 0))
    await run('users', 'k.csv', 'provider,providerId,name\ngoogle,k1,\n')
    assert.deepEqual(await known(), both('new@example.com', null, 0), 'an empty field clears the value')
    await run('users', 'k.ndjson', lines({ ...user, email: null }))
    assert.deepEqual(await known(), both(null, null, 0))
  })

  test('an interrupted run keeps its rows and reports that it is incomplete', async () => {
    const interrupt = new AbortController()
    interrupt.abort()
    const all = Array.from({ length: 2_000 }, (_, index) => ({
      _id: `p${index}`,
      title: 't',
      body: 'b',
      createdAt: '2026-01-31',
    }))
    const { complete, imported } = await run('posts', 'many.ndjson', lines(...all), interrupt.signal)
    assert.equal(complete, false)
    assert.equal((await posts()).length, imported)
    assert.ok(imported < 2_000)
    assert.equal((await run('posts', 'many.ndjson', lines(...all))).imported, 2_000)
    assert.equal((await posts()).length, 2_000)
  })

  test('an import beside a running service neither fails nor loses rows', async () => {
    const all = Array.from({ length: 3_000 }, (_, index) => ({
      _id: `p${index}`,
      title: 't',
      body: 'b',
      createdAt: '2026-01-31',
    }))
    writeFileSync(join(folder, 'beside.ndjson'), `${lines(...all)}{"_id":1}\n`)
    let isOver = false
    const importing = postern(folder, ['import', 'posts', 'beside.ndjson'], {
      DATABASE_URL: home.url,
      POSTERN_SECRET: 'x'.repeat(32),
    }).finally(() => (isOver = true))
    let written = 0
    while (!isOver) {
      written += 1
      const row = { id: `w${written}`, title: 't', body: 'b', created_at: '2026-01-01T00:00:00.000000Z' }
      await database.transaction((tx) => tx.insertInto('posts').values(row).execute())
      // On SQLite nothing above waits for the outside, and the end of the command would never be heard.
      await setImmediate()
    }
    const { code, stdout, stderr } = await importing
    assert.equal(code, 3, stdout + stderr)
    assert.match(stderr, /beside\.ndjson:3001: must have required properties/)
    assert.match(stdout, /3000 posts imported, 1 bad line skipped/)
    assert.equal((await posts()).length, 3_000 + written)
  })
})
