import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { recordFailures } from '../store-events.ts'

const full = (): Error =>
  new StorageUnavailable(Object.assign(new Error('database or disk is full'), { errcode: 13 }))

test('a failure to write counts for ten seconds, or until webhooks are stored', async () => {
  let now = 1_700_000_000_000
  let error: Error | undefined
  const store = async (): Promise<void> => {
    if (error) throw error
  }
  const { insert, isRefusing } = recordFailures(store, { now: () => now })
  assert.equal(isRefusing(), false)
  error = full()
  await assert.rejects(insert([]), StorageUnavailable)
  assert.equal(isRefusing(), true)
  now += 10_000
  assert.equal(isRefusing(), false)
  await assert.rejects(insert([]), StorageUnavailable)
  error = undefined
  await insert([])
  assert.equal(isRefusing(), false)
  error = new StorageUnavailable(new Error('Connection terminated unexpectedly'))
  await assert.rejects(insert([]), StorageUnavailable)
  assert.equal(isRefusing(), false, 'a check of the database finds this')
  // One webhook that cannot be stored says nothing about the others.
  error = new Error('no such value')
  await assert.rejects(insert([]), /no such value/)
  assert.equal(isRefusing(), false)
})
