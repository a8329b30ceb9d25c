import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brandShades, contrast, leastContrast } from './brand.ts'

test('contrast is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21)
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
})

test('any colour becomes one that can be read in both themes', () => {
  for (const color of [
    '#000000',
    '#ffffff',
    '#ffff00',
    '#ff0000',
    '#00ff00',
    '#0000ff',
    '#808080',
    '#d9a441',
  ]) {
    const { light, dark } = brandShades(color)
    assert.ok(contrast(light.accent, '#efede6') >= leastContrast, `${color} light`)
    assert.ok(contrast(dark.accent, '#242b2e') >= leastContrast, `${color} dark`)
    for (const { accent, on } of [light, dark]) assert.ok(contrast(accent, on) >= leastContrast, color)
  }
})

test('a colour that can be read stays as it is', () => {
  assert.equal(brandShades('#1f4fa8').light.accent, '#1f4fa8')
})
