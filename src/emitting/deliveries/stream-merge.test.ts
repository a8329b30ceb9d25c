import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IdStream, ReadStreams } from './id-streams.ts'
import { StreamMerge } from './stream-merge.ts'

/** Queues in memory, and how much is read of them. */
function lanesOf(ids: readonly (readonly number[])[]) {
  const streams = ids.map((_, index): IdStream => ({ subscriberId: String(index) }))
  const read = { ids: 0, most: 0 }
  const reader: ReadStreams = async (requests, from, count) => {
    const found = requests.map(({ stream, before }) =>
      ids[Number(stream.subscriberId)]!.filter((id) => id < before && id >= from)
        .toSorted((a, b) => b - a)
        .slice(0, count),
    )
    const size = found.flat().length
    read.ids += size
    read.most = Math.max(read.most, size)
    return found
  }
  return { streams, reader, read }
}

async function walk(ids: readonly (readonly number[])[], count: number, range = { from: 0, before: 1e6 }) {
  const { streams, reader, read } = lanesOf(ids)
  const merge = new StreamMerge(reader, streams, range)
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

test('streams are merged, whichever of them has the ids', async () => {
  const even = range(300).map((stream) => range(20).map((n) => n * 300 + stream + 1))
  const oneBusy = range(300).map((stream) => (stream === 7 ? range(4_000).map((n) => 500 + n) : [stream + 1]))
  const empty = range(300).map((stream) => (stream % 3 === 0 ? [] : [stream * 10 + 5, stream * 10 + 4]))
  const older = range(300).map((stream) => range(1 + (stream % 40)).map((n) => stream * 1_000 + n + 1))
  for (const ids of [even, oneBusy, empty, older, [[]], [], [[3, 2, 1]]])
    for (const count of [1, 51, 500]) {
      await walk(ids, count)
      await walk(ids, count, { from: 400, before: 2_000 })
    }
})

test('a page of many streams reads little more than it returns', async () => {
  const ids = range(1_000).map((stream) => range(500).map((n) => n * 1_000 + stream + 1))
  const { streams, reader, read } = lanesOf(ids)
  const { ids: found } = await new StreamMerge(reader, streams, { from: 0, before: 1e6 }).next(500)
  assert.ok(found.length > 100, String(found.length))
  assert.ok(read.ids < 10_000, String(read.ids))
  assert.ok(read.most <= 5_000, String(read.most))
})

test('of a stream that has most of the ids, a page is read at once', async () => {
  const ids = range(1_000).map((stream) => (stream === 0 ? range(2_000).map((n) => 2_000 + n) : [stream]))
  const { streams, reader, read } = lanesOf(ids)
  const { ids: found } = await new StreamMerge(reader, streams, { from: 0, before: 1e6 }).next(500)
  assert.equal(found.length, 500)
  assert.ok(read.ids < 10_000, String(read.ids))
})
