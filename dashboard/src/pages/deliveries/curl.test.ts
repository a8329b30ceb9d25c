import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveryDetail } from '../../webhooks/attempt.tsx'
import { curlOf } from './curl.ts'

test('the command sends the recorded request, quoted for the shell and with a new signature', () => {
  const delivery = { payload: `{"a":"it's"}`, eventId: 'evt_1', subscriberUrl: 'https://example.com/hooks' }
  const requestHeaders = {
    'x-team': 'billing',
    'webhook-id': 'evt_1',
    'webhook-signature': 'v1,old',
    'content-encoding': 'gzip',
  }
  const attempt = {
    url: null,
    method: 'PUT',
    requestHeaders,
  } as unknown as DeliveryDetail['attempts'][number]
  const text = curlOf(delivery as DeliveryDetail, attempt)
  assert.match(text, /body='\{"a":"it'\\''s"\}'/)
  assert.match(text, /-H 'x-team: billing'/)
  assert.match(text, /curl -i -X PUT 'https:\/\/example\.com\/hooks'/)
  assert.doesNotMatch(text, /v1,old|gzip/)
})
