import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { showProgress } from './progress.ts'

test('without a terminal, progress is a plain line every ten seconds', { skip: process.stderr.isTTY }, () => {
  const lines: string[] = []
  const write = (text: string): boolean => lines.push(text) > 0
  let now = 0
  const clock = mock.method(performance, 'now', () => now)
  const err = mock.method(process.stderr, 'write', write)
  try {
    const progress = showProgress(0, 'rows', false)
    progress.update(1, 100)
    now = 9_999
    progress.update(2)
    assert.deepEqual(lines, [])
    now = 10_000
    progress.update(3)
    progress.update(4)
    progress.say('line 7 is bad')
    now = 20_000
    progress.update(5)
    progress.stop()
    assert.deepEqual(lines, ['3 of 100 rows\n', 'line 7 is bad\n', '5 of 100 rows\n'])
  } finally {
    err.mock.restore()
    clock.mock.restore()
  }
})

test('on a terminal, a bar is not drawn before the total is known', () => {
  const { isTTY } = process.stderr
  const texts: string[] = []
  const err = mock.method(process.stderr, 'write', (text: string) => texts.push(text) > 0)
  process.stderr.isTTY = true
  try {
    showProgress(0, 'pages copied', false).stop()
    assert.deepEqual(texts, [])
    const known = showProgress(0, 'pages copied', false)
    known.update(2, 8)
    known.stop()
    assert.match(texts.join(''), /2\/8 pages copied/)
    assert.doesNotMatch(texts.join(''), /\b0\/0\b/)
  } finally {
    process.stderr.isTTY = isTTY
    err.mock.restore()
  }
})
