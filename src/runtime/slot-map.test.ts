import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlotMap } from './abort-broadcast.ts'

test('a removed item is gone, and its slot is reused', () => {
  const slots = new SlotMap<{ name: string }>()
  const names = (): string[] =>
    slots
      .all()
      .map(({ name }) => name)
      .toSorted()
  const removeA = slots.add({ name: 'a' })
  slots.add({ name: 'b' })
  removeA()
  slots.add({ name: 'c' })
  assert.deepEqual(names(), ['b', 'c'])
  removeA()
  assert.deepEqual(names(), ['b', 'c'], 'what came to its place afterwards was taken out')
})

test('the same item may be added twice', () => {
  const slots = new SlotMap<object>()
  const one = {}
  const remove = slots.add(one)
  slots.add(one)
  remove()
  assert.deepEqual(slots.all(), [one])
})
