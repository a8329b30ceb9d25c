import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PostgresDatabase } from '../storage/database.ts'
import type { Plan } from './plan.ts'
import { postgresReader } from './store.postgres.ts'

test('a statement runs as a quick one while those of its plan take less than 50 ms', async () => {
  const seen: boolean[] = []
  let now = 0
  let lasts = 3
  const database = {
    lists: (work: () => unknown, isQuick = false) => {
      seen.push(isQuick)
      return work()
    },
    rows: async () => {
      now += lasts
      return []
    },
  } as unknown as PostgresDatabase
  const reader = postgresReader(database, () => now)
  const unset = { settings: undefined }
  const plan: Plan = { name: 'one', sql: 'select 1', slots: [] }
  await reader.read(plan, [], unset)
  await reader.read(plan, [], unset)
  lasts = 10_000
  await reader.read(plan, [], unset)
  await reader.read(plan, [], unset)
  assert.deepEqual(seen, [false, true, true, false])

  seen.length = 0
  await reader.read({ ...plan, name: 'another' }, [], unset)
  assert.deepEqual(seen, [false], 'each plan has its own pace')
})
