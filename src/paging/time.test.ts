import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalTime, InvalidTime, showTime, timeOf } from './time.ts'

const taken: [text: string, canonical: string][] = [
  ['2026-01-31T08:30:00Z', '2026-01-31T08:30:00.000000Z'],
  ['2026-01-31T08:30:00.5Z', '2026-01-31T08:30:00.500000Z'],
  ['2026-01-31T08:30:00.000137Z', '2026-01-31T08:30:00.000137Z'],
  ['2026-01-31T08:30:00,000137Z', '2026-01-31T08:30:00.000137Z'],
  ['2026-01-31T08:30:00.123456000Z', '2026-01-31T08:30:00.123456Z'],
  ['2026-01-31 08:30:00.123456+00', '2026-01-31T08:30:00.123456Z'],
  ['2026-01-31t08:30z', '2026-01-31T08:30:00.000000Z'],
  ['2026-01-31T23:30:00.000001-02:30', '2026-02-01T02:00:00.000001Z'],
  ['2026-03-01T00:15:00+0530', '2026-02-28T18:45:00.000000Z'],
  ['2024-02-29T12:00:00-08', '2024-02-29T20:00:00.000000Z'],
  ['2026-01-31', '2026-01-31T00:00:00.000000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
  ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000000Z'],
  ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
]

test('times of ISO 8601 with any offset become UTC with six digits', () => {
  for (const [text, canonical] of taken) assert.equal(canonicalTime(text), canonical, text)
})

test('times that cannot be stored exactly are refused with the reason', () => {
  const noTimes = ['', 'yesterday', '1769848200000', 'infinity', '2026-1-31', '+12026-01-31T08:30:00Z']
  const noSeconds = ['00.Z', '00Z\n', `00.${'0'.repeat(60)}Z`].map((end) => `2026-01-31T08:30:${end}`)
  for (const [why, texts] of [
    [/ISO 8601/, [...noTimes, ...noSeconds]],
    [/offset/, ['2026-01-31T08:30:00', '2026-01-31T23:00:00+24:00']],
    [/microsecond/, ['2026-01-31T08:30:00.1234567Z']],
    [/day/, ['2026-02-29T08:30:00Z', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00']],
    [/leap second/, ['2016-12-31T23:59:60Z']],
    [/hour/, ['2026-01-31T24:00:00Z', '2026-01-31T23:60:00Z']],
    [/years/, ['0000-06-01T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00']],
  ] as const)
    for (const text of texts)
      assert.throws(
        () => canonicalTime(text),
        (error) => error instanceof InvalidTime && why.test(error.message),
        text,
      )
})

const times = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
})

test('for whole milliseconds it equals Date in both directions', () => {
  fc.assert(
    fc.property(times, (date) => {
      assert.equal(canonicalTime(date.toISOString()), timeOf(date.getTime()))
      assert.equal(showTime(timeOf(date.getTime())), date.toISOString())
    }),
  )
})

test('an offset moves the time by exactly that much', () => {
  fc.assert(
    fc.property(times, fc.integer({ min: -1439, max: 1439 }), (date, minutes) => {
      const digits = (n: number): string => String(Math.trunc(Math.abs(n))).padStart(2, '0')
      const offset = `${minutes < 0 ? '-' : '+'}${digits(minutes / 60)}:${digits(minutes % 60)}`
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().replace('Z', offset)
      if (!/^\d{4}-/.test(local) || local.startsWith('0000')) return
      assert.equal(canonicalTime(local), timeOf(date.getTime()))
    }),
  )
})

test('microseconds are shown only if they are not zero', () => {
  assert.equal(showTime('2026-01-31T08:30:00.120000Z'), '2026-01-31T08:30:00.120Z')
  assert.equal(showTime('2026-01-31T08:30:00.000137Z'), '2026-01-31T08:30:00.000137Z')
})
