import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KindRotation, perRound } from './due-kinds.ts'
import type { Kind, PendingKind } from '../queue/store.ts'

/** A rotation over the types in `pending`, which a test may change. */
function rotating(pending: Set<string>) {
  const asked: string[] = []
  const rotation = new KindRotation({
    pendingKinds: async (after: Kind, limit: number): Promise<PendingKind[]> => {
      asked.push(after.type)
      const types = [...pending].filter((type) => type > after.type).toSorted()
      return types.slice(0, limit).map((type) => ({ source: 's', type, dueAt: 0 }))
    },
  })
  const next = async (): Promise<string[]> => {
    asked.length = 0
    return (await rotation.next(0)).map(({ type }) => type)
  }
  const goOnBehind = (type: string): void => rotation.goOnBehind({ source: 's', type })
  return { next, goOnBehind, asked }
}

test('with few kinds, one query returns all, starting after the last one', async () => {
  const { next, goOnBehind, asked } = rotating(new Set(['a', 'b', 'c']))
  assert.deepEqual(await next(), ['a', 'b', 'c'])
  goOnBehind('b')
  assert.deepEqual(await next(), ['c', 'a', 'b'])
  assert.equal(asked.length, 1)
  goOnBehind('c')
  assert.deepEqual(await next(), ['a', 'b', 'c'])
})

test('when the last kind is gone, the round continues at its position', async () => {
  const pending = new Set(['a', 'b', 'c'])
  const { next, goOnBehind } = rotating(pending)
  await next()
  goOnBehind('b')
  pending.delete('b')
  assert.deepEqual(await next(), ['c', 'a'])
  pending.clear()
  assert.deepEqual(await next(), [])
})

test('with more kinds than a round has, each gets its turn, and full rounds take one query', async () => {
  const types = Array.from({ length: 2.5 * perRound }, (_, index) => String(index).padStart(4, '0'))
  const pending = new Set(types)
  const { next, goOnBehind, asked } = rotating(pending)
  const seen: string[] = []
  for (let round = 0; round < 3; round += 1) {
    const kinds = await next()
    assert.equal(kinds.length, perRound)
    assert.equal(new Set(kinds).size, perRound)
    assert.equal(asked.length, round < 2 ? 1 : 2)
    goOnBehind(kinds.at(-1)!)
    seen.push(...kinds)
  }
  assert.deepEqual(seen, [...types, ...types.slice(0, 0.5 * perRound)])
})

test('the first round with too many kinds continues after the last one', async () => {
  const pending = new Set(['b'])
  const { next, goOnBehind } = rotating(pending)
  await next()
  goOnBehind('b')
  for (let index = 0; index < perRound; index += 1) pending.add(`a${String(index).padStart(3, '0')}`)
  pending.add('c')
  const kinds = await next()
  assert.deepEqual(kinds.slice(0, 2), ['c', 'a000'])
  assert.equal(kinds.length, perRound)
})
