import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactPayload, redactText } from './redact-payload.ts'

const isSecret = (name: string): boolean => name === 'token'

test('redacts secret fields of JSON at any depth and of any type, and changes nothing else', () => {
  const cases: [given: string, shown: string][] = [
    ['{"token":"s","n":12345678901234567890}', '{"token":"[redacted]","n":12345678901234567890}'],
    ['{ "a" : [ { "token" : "s" } , 1.0 ] }', '{ "a" : [ { "token" : "[redacted]" } , 1.0 ] }'],
    ['{"token":["s",{"b":"]}"}],"c":"d"}', '{"token":"[redacted]","c":"d"}'],
    ['{"token":{"a":{"b":1}},"c":1}', '{"token":"[redacted]","c":1}'],
    ['{"token":12,"c":true}', '{"token":"[redacted]","c":true}'],
    ['{"token":null}', '{"token":"[redacted]"}'],
    ['{"t\\u006fken":"s"}', '{"t\\u006fken":"[redacted]"}'],
    ['{"token":"a\\"b","c":"\\\\"}', '{"token":"[redacted]","c":"\\\\"}'],
    ['{"a":"token","b":"\\"token\\":1"}', '{"a":"token","b":"\\"token\\":1"}'],
    ['"token"', '"token"'],
    ['{"token":"cut of', '{"token":"[redacted]"'],
    ['{"token":["cut', '{"token":"[redacted]"'],
    ['{"token":', '{"token":"[redacted]"'],
    ['{"tok', '{"tok'],
    ['{"tok\\', '{"tok\\'],
  ]
  for (const [given, shown] of cases) assert.equal(redactText(given, isSecret), shown, given)
})

test('redacts secret fields of forms, and of JSON within forms', () => {
  const payload = encodeURIComponent('{"token":"s","type":"ü"}')
  const shown = redactText(`a=1&token=s&%74oken=t&payload=${payload}&b`, isSecret)
  assert.equal(new URLSearchParams(shown).get('payload'), '{"token":"[redacted]","type":"ü"}')
  assert.match(shown, /^a=1&token=\[redacted\]&%74oken=\[redacted\]&payload=[^&]+&b$/)
})

test('payloads of other schemes and invalid UTF-8 stay unchanged', () => {
  const bytes = Buffer.from([0xff, 0x22, 0x00, 0x22, 0x3a, 0x80])
  assert.deepEqual(redactPayload(bytes, 'slack'), bytes)
  const body = Buffer.from('{"token":"ü","a":"ü"}')
  assert.equal(redactPayload(body, 'github'), body)
  assert.equal(redactPayload(body, undefined), body)
  assert.equal(redactPayload(body, 'slack').toString(), '{"token":"[redacted]","a":"ü"}')
})
