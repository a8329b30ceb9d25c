import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lanes } from './lanes.ts'

test('no more attempts at a time than the concurrency allows', () => {
  const lanes = new Lanes()
  const bounds = { id: 'a', concurrency: 2, rate: undefined }
  assert.equal(lanes.room(bounds, 0), 2)
  lanes.begin(bounds, 0)
  lanes.begin(bounds, 0)
  assert.equal(lanes.room(bounds, 0), 0)
  assert.equal(lanes.room({ ...bounds, id: 'b' }, 0), 2)
  lanes.end(bounds, true)
  assert.equal(lanes.room(bounds, 0), 1)
})

test('a rate is a budget that comes back with time, a second’s worth at most', () => {
  const lanes = new Lanes()
  const bounds = { id: 'a', concurrency: 100, rate: 2 }
  const spend = (now: number) => {
    lanes.begin(bounds, now)
    lanes.end(bounds, true)
  }
  assert.equal(lanes.room(bounds, 0), 2)
  spend(0)
  spend(0)
  assert.equal(lanes.room(bounds, 0), 0)
  assert.equal(lanes.waitForRate(bounds, 0), 500)
  assert.equal(lanes.room(bounds, 500), 1)
  assert.equal(lanes.waitForRate(bounds, 500), undefined)
  assert.equal(lanes.room(bounds, 60_000), 2)
})

test('a rate below one in a second still lets one through', () => {
  const lanes = new Lanes()
  const bounds = { id: 'a', concurrency: 1, rate: 0.1 }
  assert.equal(lanes.room(bounds, 0), 1)
  lanes.begin(bounds, 0)
  lanes.end(bounds, true)
  assert.equal(lanes.room(bounds, 9_000), 0)
  assert.equal(lanes.room(bounds, 10_000), 1)
})

test('who does not answer gets fewer attempts at a time, down to one, until an answer comes', () => {
  const lanes = new Lanes()
  const bounds = { id: 'a', concurrency: 8, rate: undefined }
  for (let n = 0; n < 8; n += 1) lanes.begin(bounds, 0)
  for (let n = 0; n < 8; n += 1) lanes.end(bounds, false)
  assert.equal(lanes.room(bounds, 0), 1)
  for (const expected of [2, 4, 8, 8]) {
    lanes.begin(bounds, 0)
    lanes.end(bounds, true)
    assert.equal(lanes.room(bounds, 0), expected)
  }
})

test('when little is left for all, only who has nothing under way gets an attempt', () => {
  const lanes = new Lanes()
  const bounds = { id: 'a', concurrency: 8, rate: undefined }
  assert.equal(lanes.room(bounds, 0, true), 1)
  lanes.begin(bounds, 0)
  assert.equal(lanes.room(bounds, 0, true), 0)
  assert.equal(lanes.room(bounds, 0), 7)
})
