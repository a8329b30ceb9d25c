import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PostgresDatabase } from '../storage/database.ts'
import { thisMoment } from '../runtime/clock.ts'
import { StandbyReader } from './standby-reader.ts'

const plan = { name: 'plan', sql: 'select 1', slots: [] }

/** A reader of lists whose standby answers `rows` with each of `answers` in turn, where an error is thrown. */
function reader(...answers: unknown[]): StandbyReader {
  const database = {
    pool: {},
    lists: (work: () => unknown) => work(),
    rows: async () => [['primary']],
  } as unknown as PostgresDatabase
  return new StandbyReader(database, {
    usable: (maxAge) => maxAge > 0,
    async rows() {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return { rows: [['standby']], asOf: thisMoment() }
    },
  })
}
const failing = (code: string): Error => Object.assign(new Error(code), { code })
const read = (from: StandbyReader) => from.read(plan, [], { settings: undefined })

test('after the replay cancels a statement, this one and all later ones run on the primary', async () => {
  // serialization_failure, the end of the session by a conflict, and a table that the standby does not have yet
  for (const code of ['40001', '57P01', '42P01']) {
    const standby = reader(failing(code))
    const { result, age } = await standby.withStandby(5_000, async () => [
      await read(standby),
      await read(standby),
    ])
    assert.deepEqual(result, [[['primary']], [['primary']]])
    assert.equal(age, 0)
  }
})

test('a statement that times out is not repeated on the primary', async () => {
  const standby = reader(failing('57014'))
  await assert.rejects(
    standby.withStandby(5_000, () => read(standby)),
    /database is unavailable/,
  )
})

test('what has become too old by the time that the last statement is over is read again on the primary', async () => {
  const standby = reader()
  const { result, age } = await standby.withStandby(10, async () => {
    const first = await read(standby)
    const before = performance.now()
    while (performance.now() - before < 20) await new Promise((resolve) => setTimeout(resolve, 1))
    return [first, await read(standby)]
  })
  assert.deepEqual([result, age], [[[['primary']], [['primary']]], 0])
})

test('the age of several statements is that of the oldest one', async () => {
  const standby = reader()
  const { age } = await standby.withStandby(5_000, async () => {
    await read(standby)
    const before = performance.now()
    while (performance.now() - before < 20) await new Promise((resolve) => setTimeout(resolve, 1))
    await read(standby)
  })
  assert.ok(age >= 20)
})
