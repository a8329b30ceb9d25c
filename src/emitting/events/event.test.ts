import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventTypesPattern } from '../subscribers/subscriber-body.ts'
import { prepareEvent } from './event.ts'

const now = Date.UTC(2026, 0, 31, 8, 30)

test('the payload has id, type, timestamp and data, in this order', () => {
  const { payload } = prepareEvent({ id: 'evt_1', type: 'order.paid', data: { a: [1, null] } }, now)
  assert.equal(
    payload.toString(),
    '{"id":"evt_1","type":"order.paid","timestamp":"2026-01-31T08:30:00.000Z","data":{"a":[1,null]}}',
  )
})

test('an event without an id gets a new id', () => {
  const ids = new Set(Array.from({ length: 100 }, () => prepareEvent({ type: 'a', data: 1 }, now).eventId))
  assert.equal(ids.size, 100)
  for (const id of ids) assert.match(id, /^msg_[0-9a-f]{32}$/)
})

test('the order of keys and the notation of numbers do not change the digest', () => {
  const digest = (data: unknown) => prepareEvent({ id: 'x', type: 'a', data }, now).digest.toString('hex')
  const first = { a: 1, b: { c: [1, { d: null, e: 'x' }], f: true } }
  const second = { b: { f: true, c: [1, { e: 'x', d: null }] }, a: 1 }
  assert.equal(digest(first), digest(second))
  assert.notEqual(digest([1, 2]), digest([2, 1]))
  // toJSON speaks before the keys are looked at.
  assert.equal(digest({ at: new Date(now) }), digest({ at: '2026-01-31T08:30:00.000Z' }))
})

test('a bigint is sent as its digits', () => {
  const { data, payload } = prepareEvent({ type: 'a', data: { n: 9007199254740993n, in: [-1n] } }, now)
  assert.equal(data, '{"n":9007199254740993,"in":[-1]}')
  assert.ok(payload.toString().endsWith(`"data":${data}}`))
})

test('invalid types, ids and data are refused', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const bad = [
    { type: '', data: 1 },
    { type: 'a b', data: 1 },
    { type: 'a\r\nx', data: 1 },
    { type: 'é', data: 1 },
    { type: 'a'.repeat(257), data: 1 },
    { type: 'a', data: 1, id: '' },
    { type: 'a', data: 1, id: 'a\0' },
    { type: 'a', data: 1, id: 'a.1700000000' },
    { type: 'a', data: 1, id: 'a\r\nb' },
    { type: 'a', data: 1, id: 'é' },
    { type: 'a', data: 1, id: 'a'.repeat(257) },
    { type: 'a', data: undefined },
    { type: 'a', data: cycle },
  ]
  for (const event of bad)
    assert.throws(() => prepareEvent(event, now), { name: 'Problem', code: 'invalid-body' }, event.type)
})

test('endpoints take types and patterns in which a wildcard is a whole part', () => {
  const form = new RegExp(eventTypesPattern)
  for (const good of ['*', 'a', 'order.paid', 'order.*', '*.created', 'order.*.paid', '*.a.*'])
    assert.ok(form.test(good), good)
  for (const bad of ['', 'a*', '*a', 'a.**', 'a b', 'x'.repeat(257), `${'*.'.repeat(120)}!`])
    assert.ok(!form.test(bad), bad)
})
