// What is written here is read by PostgreSQL alone.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { arrayLiteral } from '../../src/storage/postgres/array-literal.ts'
import { engines, type TestDatabase } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'

for (const engine of engines.filter(({ name }) => name === 'postgres'))
  describe('arrays as PostgreSQL reads them', () => {
    let home: TestDatabase
    let client: pg.Client

    before(async () => {
      home = await engine.createDatabase()
      client = new pg.Client({ connectionString: home.url })
      await client.connect()
    })
    after(async () => {
      await client.end()
      await home.drop()
    })

    const read = async (type: string, literal: string): Promise<unknown> =>
      (await client.query<{ read: unknown }>(`select $1::${type}[] as read`, [literal])).rows[0]!.read

    test('texts, whatever they hold', async (context) => {
      const odd = fc.constantFrom(
        '',
        'NULL',
        'null',
        '{}',
        '"',
        '\\',
        ',',
        '\n',
        '\u0001',
        '\u007f',
        '€',
        '😀',
        ' a ',
      )
      const text = fc.oneof(
        odd,
        fc.string({ unit: 'grapheme' }),
        fc.array(odd).map((parts) => parts.join('')),
      )
      const texts = fc.array(fc.option(text.filter((one) => !one.includes('\u0000') && one.isWellFormed())))
      await fc.assert(
        fc.asyncProperty(texts, async (all) => {
          assert.deepEqual(await read('text', arrayLiteral(all)), all)
        }),
        propertyRun(context),
      )
    })

    test('JSON documents, which are what most texts are', async () => {
      const documents = [{ a: 'b"c\\d\n', é: ['😀', null] }, [], 'x', { b: '\u0007' }].map((one) =>
        JSON.stringify(one),
      )
      assert.deepEqual(await read('text', arrayLiteral(documents)), documents)
    })

    test('numbers, bytes and nulls, also where neighbours are equal', async () => {
      const numbers = [1, 1, null, null, 2 ** 31 - 1, -5, -5, 0]
      assert.deepEqual(await read('integer', arrayLiteral(numbers)), numbers)
      assert.deepEqual(await read('bigint', arrayLiteral([Number.MAX_SAFE_INTEGER])), ['9007199254740991'])
      assert.deepEqual(await read('double precision', arrayLiteral([0.1, -1.5e300])), [0.1, -1.5e300])
      const whole = new Uint8Array([9, 0, 255, 92, 34, 9])
      const bytes = [Buffer.alloc(0), null, whole, whole.subarray(1, 5), whole]
      const answer = (await read('bytea', arrayLiteral(bytes))) as (Buffer | null)[]
      assert.deepEqual(
        answer.map((one) => one && Array.from(one)),
        bytes.map((one) => one && Array.from(one)),
      )
      assert.deepEqual(await read('text', arrayLiteral([])), [])
      assert.deepEqual(await read('text', arrayLiteral([undefined, 'a', undefined])), [null, 'a', null])
    })
  })
