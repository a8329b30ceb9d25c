import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTraceContext } from './propagation.ts'

const [trace, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const valid = `00-${trace}-${parent}-01`

test('a valid traceparent is passed on; a later version is read as version 00', () => {
  assert.deepEqual(readTraceContext({ traceparent: valid }), { traceparent: valid })
  for (const later of [`01-${trace}-${parent}-01`, `cc-${trace}-${parent}-01-what.comes.next`])
    assert.deepEqual(readTraceContext({ traceparent: later }), { traceparent: valid })
  assert.equal(
    readTraceContext({ traceparent: `00-${trace}-${parent}-ff` })!.traceparent,
    `00-${trace}-${parent}-03`,
  )
})

const malformed = [
  '',
  'x',
  `ff-${trace}-${parent}-01`,
  `00-${'0'.repeat(32)}-${parent}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace.toUpperCase()}-${parent}-01`,
  `${valid}-more`,
  `01-${trace}-${parent}-01more`,
  `00-${trace}-${parent}`,
  `00-${trace}-${parent}-1`,
  `cc-${trace}-${parent}-01-${'a'.repeat(100_000)}`,
]
for (const traceparent of malformed)
  test(`ignores ${traceparent.slice(0, 70)}`, () =>
    assert.equal(readTraceContext({ traceparent, tracestate: 'a=b' }), undefined))

test('a tracestate has at most 512 characters and 32 members of the documented form', () => {
  const of = (tracestate: string): string | undefined =>
    readTraceContext({ traceparent: valid, tracestate })!.tracestate
  assert.equal(of('rojo=1, congo=t61rcWkgMzE,'), 'rojo=1,congo=t61rcWkgMzE')
  assert.equal(of('fw529a3039@dt=FfAAAAA'), 'fw529a3039@dt=FfAAAAA')
  const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=1`).join(',')
  assert.equal(of(many(32)), many(32))
  for (const bad of [many(33), `a=${'b'.repeat(511)}`, 'a=b=c', 'A=b', 'a', 'a=b,a=c', 'a=\u00e9', 'a=', ','])
    assert.equal(of(bad), undefined, bad.slice(0, 40))
  assert.equal(of('a, '.repeat(170)), undefined)
})
