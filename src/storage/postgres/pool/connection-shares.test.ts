import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionShares } from './connection-shares.ts'

const never = new AbortController().signal

/** Enters shares one after the other, and lists those that got a connection, in order. */
function entrance(shares: ConnectionShares) {
  const inside: string[] = []
  const leave: Record<string, (() => void)[]> = {}
  const enter = (share: string, signal = never) =>
    shares.enter(share, signal).then((left) => {
      inside.push(share)
      ;(leave[share] ??= []).push(left)
    })
  return { inside, leave, enter }
}

test('a greedy share leaves connections for others, and gets them if no other share waits', async () => {
  const { inside, leave, enter } = entrance(new ConnectionShares(6))
  for (let index = 0; index < 8; index += 1) void enter('slow')
  await new Promise(setImmediate)
  assert.equal(inside.length, 4, 'two thirds')
  await Promise.all([enter('a'), enter('b')])
  void enter('c')
  await new Promise(setImmediate)
  assert.deepEqual(inside.slice(4), ['a', 'b'])

  leave['slow']!.shift()!()
  await new Promise(setImmediate)
  assert.equal(inside.at(-1), 'c', 'before those of the slow one that asked earlier')
  for (const share of ['a', 'b', 'c']) leave[share]!.shift()!()
  await new Promise(setImmediate)
  assert.equal(inside.filter((share) => share === 'slow').length, 5)
})

test('an aborted wait takes no connection, and a connection is returned once', async () => {
  const { inside, leave, enter } = entrance(new ConnectionShares(1))
  await enter('a')
  const stop = new AbortController()
  const waiting = enter('b', stop.signal)
  stop.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
  leave['a']![0]!()
  leave['a']![0]!()
  await enter('c')
  void enter('d')
  await new Promise(setImmediate)
  assert.deepEqual(inside, ['a', 'c'])
})

test('one connection is reserved for the favoured share', async () => {
  const { inside, leave, enter } = entrance(new ConnectionShares(4, 'shared'))
  for (const share of ['a', 'a', 'a', 'b', 'c']) void enter(share)
  await new Promise(setImmediate)
  assert.deepEqual(inside, ['a', 'a', 'b'], 'the last one is kept')
  await enter('shared')
  void enter('d')
  await new Promise(setImmediate)
  assert.equal(inside.length, 4)
  leave['shared']![0]!()
  await new Promise(setImmediate)
  assert.equal(inside.length, 4, 'it is kept again')
  await enter('shared')
})
