import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEnvironment } from '../config/environment.ts'
import type { SecretName } from '../config/generated-secrets.ts'
import { banner } from './banner.ts'

const shown = (stored: SecretName[], fresh = true): string => {
  const configuration = readEnvironment({
    WEBHOOK_SECRET: 'a-webhook-secret',
    ADMIN_API_KEY: 'pk_0123456789abcdef',
  })
  const baseUrl = 'http://127.0.0.1:3000'
  return banner({ configuration, stored, fresh, baseUrl, secretsFile: 'secrets.json', sources: ['shop'] })
}

test('generated secrets are printed at the first start, those of the environment never', () => {
  assert.match(
    shown(['POSTERN_SECRET', 'ADMIN_API_KEY']),
    /shown only once:\n\n {4}ADMIN_API_KEY=pk_0123456789abcdef\n$/,
  )
  const masterKey = shown(['POSTERN_SECRET'])
  assert.match(masterKey, /A master key was generated and stored in secrets\.json\./)
  assert.doesNotMatch(masterKey, /shown only once|_SECRET=|_KEY=/)
  assert.doesNotMatch(shown(['POSTERN_SECRET', 'ADMIN_API_KEY'], false), /secrets\.json/)
})
