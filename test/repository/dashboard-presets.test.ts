import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presets } from '../../src/login/providers/presets.ts'
import { providerPresets } from '../../dashboard/src/pages/providers/presets.ts'

test('the presets of the dialog are those of the service, with the settings that they need', () => {
  const wanted = Object.entries(presets).map(([name, { label, settings = {} }]) => {
    const more = Object.entries(settings)
      .filter(([, setting]) => setting.default === undefined && !setting.optional)
      .map(([key]) => key)
    return [name, { label, ...(more.length > 0 && { more }) }]
  })
  assert.deepEqual(providerPresets, Object.fromEntries(wanted))
})
