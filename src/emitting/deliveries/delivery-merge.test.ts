import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Lane, ReadLanes } from './delivery-lanes.ts'
import { LaneMerge } from './delivery-merge.ts'

/** Lanes in memory, and how much is read of them. */
function lanesOf(ids: readonly (readonly number[])[]) {
  const lanes = ids.map((_, index): Lane => ({ subscriberId: String(index) }))
  const read = { ids: 0, most: 0 }
  const reader: ReadLanes = async (wanted, from, count) => {
    const found = wanted.map(({ lane, before }) =>
      ids[Number(lane.subscriberId)]!.filter((id) => id < before && id >= from)
        .toSorted((a, b) => b - a)
        .slice(0, count),
    )
    const size = found.flat().length
    read.ids += size
    read.most = Math.max(read.most, size)
    return found
  }
  return { lanes, reader, read }
}

async function walk(ids: readonly (readonly number[])[], count: number, range = { from: 0, before: 1e6 }) {
  const { lanes, reader, read } = lanesOf(ids)
  const merge = new LaneMerge(reader, lanes, range)
  const found: number[] = []
  for (let more = true; more;) {
    const next = await merge.next(count)
    assert.ok(next.ids.length <= count)
    assert.ok(next.ids.length > 0 || !next.more, 'nothing, although there is more')
    found.push(...next.ids)
    more = next.more
  }
  const expected = ids
    .flat()
    .filter((id) => id < range.before && id >= range.from)
    .toSorted((a, b) => b - a)
  assert.deepEqual(found, expected)
  return read
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

test('lanes are merged, whichever of them has the ids', async () => {
  const even = range(300).map((lane) => range(20).map((n) => n * 300 + lane + 1))
  const oneBusy = range(300).map((lane) => (lane === 7 ? range(4_000).map((n) => 500 + n) : [lane + 1]))
  const empty = range(300).map((lane) => (lane % 3 === 0 ? [] : [lane * 10 + 5, lane * 10 + 4]))
  const older = range(300).map((lane) => range(1 + (lane % 40)).map((n) => lane * 1_000 + n + 1))
  for (const ids of [even, oneBusy, empty, older, [[]], [], [[3, 2, 1]]])
    for (const count of [1, 51, 500]) {
      await walk(ids, count)
      await walk(ids, count, { from: 400, before: 2_000 })
    }
})

test('a page of many lanes reads little more than it returns', async () => {
  const ids = range(1_000).map((lane) => range(500).map((n) => n * 1_000 + lane + 1))
  const { lanes, reader, read } = lanesOf(ids)
  const { ids: found } = await new LaneMerge(reader, lanes, { from: 0, before: 1e6 }).next(500)
  assert.ok(found.length > 100, String(found.length))
  assert.ok(read.ids < 10_000, String(read.ids))
  assert.ok(read.most <= 5_000, String(read.most))
})

test('of a lane that has most of the ids, a page is read at once', async () => {
  const ids = range(1_000).map((lane) => (lane === 0 ? range(2_000).map((n) => 2_000 + n) : [lane]))
  const { lanes, reader, read } = lanesOf(ids)
  const { ids: found } = await new LaneMerge(reader, lanes, { from: 0, before: 1e6 }).next(500)
  assert.equal(found.length, 500)
  assert.ok(read.ids < 10_000, String(read.ids))
})
