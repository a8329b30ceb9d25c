// Whatever comes, a preset gives a verdict: it neither throws nor takes what nobody has signed.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { hmac, paypal, sns, type Scheme } from '../../src/index.ts'
import { secretPresets } from '../harness/presets.ts'

const now = 1_700_000_000_000
const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'der',
  type: 'spki',
})
const secrets: Record<string, string> = {
  adyen: 'ab'.repeat(32),
  discord: ed25519.subarray(-32).toString('hex'),
  sendgrid: p256.toString('base64'),
  standardWebhooks: `whpk_${ed25519.subarray(-32).toString('base64')}`,
}
const { hmac: _, ...presets } = secretPresets
const schemes: [name: string, scheme: Scheme][] = [
  [
    'hmac',
    hmac({ header: 'x-signature', secret: 's', signed: '{url}{header:x-a}{body}', id: { body: 'a.0.b' } }),
  ],
  ['paypal', paypal({ webhookId: 'w' })],
  ['sns', sns({ topicArn: 'arn:aws:sns:eu-central-1:123456789012:T' })],
  ...Object.entries(presets).map(([name, preset]): [string, Scheme] => [
    name,
    preset({ secret: secrets[name] ?? 's'.repeat(32), header: 'x-signature' }),
  ]),
]

const headerNames = `
  x-signature x-a stripe-signature x-hub-signature x-hub-signature-256 webhook-id webhook-timestamp
  webhook-signature svix-signature x-gitlab-token x-slack-signature x-slack-request-timestamp
  paddle-signature linear-signature x-zm-signature x-twilio-signature x-signature-ed25519
  x-signature-timestamp x-hubspot-signature-v3 x-hubspot-request-timestamp
  x-twilio-email-event-webhook-signature x-twilio-email-event-webhook-timestamp
  calendly-webhook-signature x-zendesk-webhook-signature x-zendesk-webhook-signature-timestamp
  x-shopify-hmac-sha256 x-docusign-signature-1 x-notion-signature x-pagerduty-signature sentry-hook-signature hmacsignature
  paypal-transmission-id paypal-transmission-time paypal-transmission-sig paypal-cert-url paypal-auth-algo
`
  .trim()
  .split(/\s+/)
const value = fc.oneof(
  fc.constantFrom(
    '',
    '=',
    ',',
    't=,v1=',
    't=1700000000,v1=00',
    'ts=1700000000;h1=zz',
    'v1,AAAA v1a,AAAA',
    'v0=00',
    'v1=00,v1=',
  ),
  fc.constantFrom(
    '1700000000',
    '1700000000000',
    '2023-11-14T22:13:20Z',
    'sha256=',
    `sha256=${'0'.repeat(64)}`,
  ),
  fc.string({ maxLength: 100 }),
  fc.base64String({ maxLength: 100 }),
)
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/x-www-form-urlencoded', ';', ''),
    ...Object.fromEntries(headerNames.map((name) => [name, value])),
  },
  { requiredKeys: [] },
)
const fields = [
  'Signature',
  'TopicArn',
  'notificationItems',
  'NotificationRequestItem',
  'type',
  'event',
  'action',
  'entry',
  'changes',
  'object',
  'value',
  'clientState',
  'signature',
  'payload',
]
const json = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, -1, 1e300, '', 'a', '\0', '\ud800', [], {}),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...fields, '__proto__', 'event-data', 'data', 'token'), tie('any')),
  ),
})).any
const body = fc.oneof(
  json.map((any) => Buffer.from(JSON.stringify(any))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('', '%', 'payload=%7B', 'command=%ff', 'a=1&a=1&&=', '[null]', '{"value":[0]}')
    .map((text) => Buffer.from(text)),
)
const url = fc.oneof(
  fc.constantFrom(
    'https://a.example/w?bodySHA256=zz',
    'http://[::1/w?%',
    '?',
    'https://a.example:x/?validationToke=1',
  ),
  fc.string(),
)

test('unsigned requests are refused, and no input makes a preset throw', () => {
  fc.assert(
    fc.property(body, headers, url, (rawBody, given, url) => {
      for (const [name, scheme] of schemes) {
        const verdict = scheme.verify({ rawBody, headers: given, now, url })
        assert.ok('rejected' in verdict, `${name}: ${JSON.stringify(verdict)}`)
      }
    }),
    { numRuns: 3_000 },
  )
})

test('a signed body of any form is classified, as an event with id and type or not', () => {
  const hex = [
    'github',
    'bitbucket',
    'meta',
    'dropbox',
    'linear',
    'intercom',
    'notion',
    'pagerduty',
    'sentry',
  ]
  const base64 = ['typeform', 'woocommerce', 'shopify', 'x', 'docusign']
  const chosen = schemes.filter(([name]) => hex.includes(name) || base64.includes(name))
  assert.equal(chosen.length, hex.length + base64.length)
  fc.assert(
    fc.property(body, value, (rawBody, text) => {
      const mac = (algorithm = 'sha256') => createHmac(algorithm, 's'.repeat(32)).update(rawBody)
      const shared = {
        'x-github-event': text,
        'x-github-delivery': text,
        'x-shopify-topic': text,
        'x-wc-webhook-topic': text,
        'x-event-key': text,
        'x-hub-signature-256': `sha256=${mac().digest('hex')}`,
        'request-id': text,
        'sentry-hook-resource': text,
        'sentry-hook-signature': mac().digest('hex'),
        'x-notion-signature': `sha256=${mac().digest('hex')}`,
        'x-pagerduty-signature': `v1=${mac().digest('hex')}`,
        'x-docusign-signature-7': mac().digest('base64'),
        'x-dropbox-signature': mac().digest('hex'),
        'linear-signature': mac().digest('hex'),
        'typeform-signature': `sha256=${mac().digest('base64')}`,
        'x-wc-webhook-signature': mac().digest('base64'),
        'x-shopify-hmac-sha256': mac().digest('base64'),
        'x-twitter-webhooks-signature': `sha256=${mac().digest('base64')}`,
      }
      for (const [name, scheme] of chosen) {
        const signature =
          name === 'intercom' ? `sha1=${mac('sha1').digest('hex')}` : `sha256=${mac().digest('hex')}`
        const verdict = scheme.verify({ rawBody, headers: { ...shared, 'x-hub-signature': signature }, now })
        if ('rejected' in verdict) {
          // Linear's time stands in the body.
          assert.ok(verdict.rejected === 'malformed' || name === 'linear', `${name}: ${verdict.detail}`)
          continue
        }
        assert.ok('id' in verdict, name)
        for (const text of [verdict.id, verdict.type])
          assert.ok(text !== '' && text.length <= 256 && text.isWellFormed() && !text.includes('\0'), name)
      }
    }),
    { numRuns: 2_000 },
  )
})

describe('senders that sign what is in the body: large bodies are rejected before they are verified', () => {
  const formHeaders = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': 'AAAA' }
  const jsonHeaders = { 'content-type': 'application/json' }
  const manyNames = `a=1&${Array.from({ length: 2_000 }, (_, index) => `f${index}`).join('&')}`
  for (const [name, headers, body, detail] of [
    ['twilio', formHeaders, manyNames, /more than 1,000 fields/],
    ['mailgun', formHeaders, manyNames, /more than 1,000 fields/],
    ['mailgun', jsonHeaders, `{"signature":${'['.repeat(200)}`, /more than 100 levels/],
    ['sns', jsonHeaders, `{"Message":${'['.repeat(200)}`, /more than 100 levels/],
    ['adyen', jsonHeaders, `{"notificationItems":${'['.repeat(200)}`, /more than 100 levels/],
    ['adyen', jsonHeaders, `{"notificationItems":[${'{},'.repeat(200)}{}]}`, /more than 100 items/],
    ['microsoftGraph', jsonHeaders, `{"value":${'['.repeat(200)}`, /more than 100 levels/],
    ['microsoftGraph', jsonHeaders, `{"value":[${'0,'.repeat(60_000)}0]}`, /more than 50000 values/],
  ] as const)
    test(`${name}: ${body.slice(0, 12)}`, () => {
      const [, scheme] = schemes.find(([one]) => one === name)!
      const verdict = scheme.verify({ rawBody: Buffer.from(body), headers, now, url: 'https://a.example/w' })
      assert.ok('rejected' in verdict && verdict.rejected === 'malformed')
      assert.match(verdict.detail, detail)
    })

  test('brackets, commas and quotes within texts do not count', () => {
    const [, scheme] = schemes.find(([one]) => one === 'microsoftGraph')!
    const text = `"${'[,\\"{'.repeat(60_000)}\\\\"`
    const rawBody = Buffer.from(`{"value":[{"clientState":"${'s'.repeat(32)}","text":${text}}]}`)
    assert.ok('id' in scheme.verify({ rawBody, headers: jsonHeaders, now }))
  })
})
