import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '../../../../src/config/settings.ts'
import { groupOf, groupTitles, valueInWords } from './setting-groups.ts'

test('every setting of the service has a section of its own kind', () => {
  const last = groupTitles.at(-1)
  for (const { env } of Object.values(settings)) assert.notEqual(groupOf(env), last, env)
  assert.equal(groupOf('GITHUB_CLIENT_ID'), last)
})

test('every time is written in words', () => {
  assert.equal(valueInWords('SESSION_IDLE', '604800'), '7 days')
  assert.equal(valueInWords('PAYLOAD_RETENTION_DAYS', '30'), '30 days')
  assert.equal(valueInWords('EMIT_RETRY_SCHEDULE', '0'), 'Immediately. No retries.')
  assert.equal(valueInWords('PORT', '3000'), undefined)
  assert.equal(valueInWords('EMIT_DISABLE_AFTER_DAYS', 'off'), undefined)
  const described = Object.values(settings).filter(({ description }) => description.startsWith('Seconds'))
  for (const setting of described)
    assert.ok(
      !('default' in setting) || setting.default === undefined || valueInWords(setting.env, setting.default),
      setting.env,
    )
})
