// What the senders themselves have published: signatures that they made, over bytes that they chose.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { adyen } from './adyen.ts'
import { bitbucket, docusign, paddle, pagerduty, square } from './presets.ts'
import type { Scheme } from './scheme.ts'
import { sendgrid } from './public-keys.ts'
import { slack } from './slack.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { twilio } from './twilio.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

function verify(scheme: Scheme, body: string, headers: Record<string, string>, seconds = 0, url?: string) {
  const found = scheme.verify({
    rawBody: Buffer.from(body),
    headers,
    now: seconds * 1000,
    ...(url !== undefined && { url }),
  })
  if ('answer' in found) return 'answered'
  if ('fetchFirst' in found) return 'fetchFirst'
  return 'rejected' in found ? found.rejected : found.type
}

// https://github.com/Adyen/adyen-php-api-library and adyen-node-api-library, their tests of signatures
test('adyen: the items of its libraries, alone and together', () => {
  const scheme = adyen({ secret: 'DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00' })
  const authorized = {
    pspReference: '7914073381342284',
    merchantAccountCode: 'TestMerchant',
    success: 'true',
    merchantReference: 'TestPayment-1407325143704',
    amount: { value: 1130, currency: 'EUR' },
    eventCode: 'AUTHORISATION',
    additionalData: { hmacSignature: 'Ny9gS2veKo5E4w8/OL6xz1/wvT/hYkAXy1xNc/QvO4I=' },
  }
  const captured = {
    pspReference: 'pspReference',
    originalReference: 'originalReference',
    success: 'true',
    merchantAccountCode: 'merchantAccount',
    merchantReference: 'reference',
    eventCode: 'CAPTURE',
    amount: { currency: 'EUR', value: 1000 },
    additionalData: { hmacSignature: 'xhpHvYq2u2Np0rstbZ6QjLGu7JWhvf7Iwaa6EviJSX0=' },
  }
  const bodyOf = (...items: object[]) =>
    JSON.stringify({
      notificationItems: items.map((NotificationRequestItem) => ({ NotificationRequestItem })),
    })
  assert.equal(verify(scheme, bodyOf(authorized), {}), 'AUTHORISATION')
  assert.equal(verify(scheme, bodyOf(captured, authorized), {}), 'CAPTURE')
  assert.equal(verify(scheme, bodyOf(captured, { ...authorized, success: 'false' }), {}), 'signature')
  assert.equal(verify(scheme, bodyOf({ ...captured, originalReference: '' }), {}), 'signature')
})

// https://docs.slack.dev/authentication/verifying-requests-from-slack
test('slack: the slash command of its documentation', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
  const headers = {
    ...form,
    'x-slack-request-timestamp': '1531420618',
    'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  }
  const scheme = slack({ secret: '8f742231b10e8888abcd99yyyzzz85a5' })
  assert.equal(verify(scheme, body, headers, 1_531_420_618), 'slash_command.webhook-collect')
  assert.equal(verify(scheme, `${body}x`, headers, 1_531_420_618), 'signature')
  assert.equal(verify(scheme, body, headers, 1_531_420_618 + 301), 'signature')
})

// https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
test('bitbucket: the digest of its documentation', () => {
  const headers = {
    'x-hub-signature': 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9',
  }
  const scheme = bitbucket({ secret: "It's a Secret to Everybody" })
  assert.equal(verify(scheme, 'Hello World!', headers), 'malformed', 'signed, though no JSON')
  assert.equal(verify(scheme, 'Hello World?', headers), 'signature')
})

// https://developer.squareup.com/docs/webhooks/step3validate
test('square: the request of its documentation, signed over the address and the body', () => {
  const headers = { 'x-square-hmacsha256-signature': '2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og=' }
  const scheme = square({ secret: 'asdf1234', url: 'https://example.com/webhook' })
  assert.equal(
    verify(scheme, '{"hello":"world"}', headers),
    'malformed',
    'signed, though without an event_id',
  )
  assert.equal(verify(scheme, '{"hello":"world" }', headers), 'signature')
  assert.equal(
    verify(square({ secret: 'asdf1234' }), '{"hello":"world"}', headers, 0, 'https://example.com/webhook'),
    'malformed',
  )
  assert.equal(
    verify(square({ secret: 'asdf1234' }), '{"hello":"world"}', headers, 0, 'https://example.com/webhooks'),
    'signature',
  )
})

// The example of Twilio's own libraries.
test('twilio: the request of its libraries, with and without the default port', () => {
  const body = new URLSearchParams({
    To: '+18005551212',
    From: '+14158675309',
    Digits: '1234',
    Caller: '+14158675309',
    CallSid: 'CA1234567890ABCDE',
  }).toString()
  const headers = { ...form, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' }
  const scheme = twilio({ secret: '12345' })
  const url = 'https://mycompany.com/myapp.php?foo=1&bar=2'
  assert.equal(verify(scheme, body, headers, 0, url), 'callback')
  assert.equal(verify(scheme, body, headers, 0, url.replace('.com', '.com:443')), 'callback')
  assert.equal(verify(scheme, body, headers, 0, `${url}3`), 'signature')
  assert.equal(verify(scheme, body.replace('1234', '1235'), headers, 0, url), 'signature')
  assert.equal(verify(scheme, `${body}&Extra=1`, headers, 0, url), 'signature')
  const configured = twilio({ secret: '12345', url: 'https://mycompany.com/myapp.php' })
  assert.equal(
    verify(configured, body, headers, 0, 'http://10.0.0.1:3000/webhooks/t?foo=1&bar=2'),
    'callback',
  )
})

// https://github.com/sendgrid/sendgrid-python/blob/main/test/unit/test_eventwebhook.py
test("sendgrid: the batch of its libraries' tests, which ends with a line break", () => {
  const body =
    '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
  const headers = {
    'x-twilio-email-event-webhook-timestamp': '1600112502',
    'x-twilio-email-event-webhook-signature':
      'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
  }
  const scheme = sendgrid({
    secret:
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  })
  assert.equal(verify(scheme, body, headers, 1_600_112_502), 'batch')
  assert.equal(verify(scheme, body.trim(), headers, 1_600_112_502), 'signature')
  assert.equal(verify(scheme, body, headers, 1_600_112_502 - 301), 'signature')
  const broken = { ...headers, 'x-twilio-email-event-webhook-signature': 'AAAA' }
  assert.equal(verify(scheme, body, broken, 1_600_112_502), 'signature')
  assert.throws(() => sendgrid({ secret: 'no key' }), /verification key/)
})

// https://github.com/PagerDuty/go-pagerduty/blob/main/webhookv3/webhookv3_test.go
test('pagerduty: the signature of its library, alone and among others', () => {
  const body =
    '{"event":{"id":"01BWDWL3NYY7LUFPZCC28QUCMK","event_type":"incident.priority_updated","resource_type":"incident","occurred_at":"2021-04-26T17:36:27.458Z","agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex Engineer","type":"user_reference"},"client":null,"data":{"id":"PGR0VU2","type":"incident","self":"https://api.pagerduty.com/incidents/PGR0VU2","html_url":"https://acme.pagerduty.com/incidents/PGR0VU2","number":2,"status":"triggered","title":"A little bump in the road","service":{"html_url":"https://acme.pagerduty.com/services/PF9KMXH","id":"PF9KMXH","self":"https://api.pagerduty.com/services/PF9KMXH","summary":"API Service","type":"service_reference"},"assignees":[{"html_url":"https://acme.pagerduty.com/users/PTUXL6G","id":"PTUXL6G","self":"https://api.pagerduty.com/users/PTUXL6G","summary":"User 123","type":"user_reference"}],"escalation_policy":{"html_url":"https://acme.pagerduty.com/escalation_policies/PUS0KTE","id":"PUS0KTE","self":"https://api.pagerduty.com/escalation_policies/PUS0KTE","summary":"Default","type":"escalation_policy_reference"},"teams":[{"html_url":"https://acme.pagerduty.com/teams/PFCVPS0","id":"PFCVPS0","self":"https://api.pagerduty.com/teams/PFCVPS0","summary":"Engineering","type":"team_reference"}],"priority":{"html_url":"https://acme.pagerduty.com/account/incident_priorities","id":"PSO75BM","self":"https://api.pagerduty.com/priorities/PSO75BM","summary":"P1","type":"priority_reference"},"urgency":"high","conference_bridge":{"conference_number":1000,"conference_url":"https://example.com"},"resolve_reason":null}}}'
  const scheme = pagerduty({ secret: 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK' })
  const digest = '0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd'
  const other = '7020c8a7ec668a9b7012bc3dd82e483394b038f4230acc6785efbf2a7d8bcaf5'
  const signed = (header: string, text = body) => verify(scheme, text, { 'x-pagerduty-signature': header })
  assert.equal(signed(`v1=${digest}`), 'incident.priority_updated')
  assert.equal(signed(`v1=${other},v1=${digest}`), 'incident.priority_updated')
  for (const header of [`v1=${other}`, digest, `v0=${digest}`, `v2=${digest}`, 'v1=', '', `v1=${digest}00`])
    assert.equal(signed(header), 'signature', header)
  assert.equal(signed(`v1=${digest}`, `${body} `), 'signature')
  assert.equal(signed(`v1=${digest}`, ''), 'signature')
})

test('docusign: one of several signatures must match, under a numbered header', () => {
  const body = '{"event":"envelope-sent","retryCount":0}'
  const digest = createHmac('sha256', 'key').update(body).digest('base64')
  const scheme = docusign({ secret: 'other,key' })
  const outcome = (headers: Record<string, string>, text = body) => verify(scheme, text, headers)
  assert.equal(outcome({ 'x-docusign-signature-1': digest }), 'envelope-sent')
  assert.equal(
    outcome({ 'x-docusign-signature-1': 'AAAA', 'x-docusign-signature-12': digest }),
    'envelope-sent',
  )
  for (const name of [
    'x-docusign-signature',
    'x-docusign-signature-x',
    'x-x-docusign-signature-1',
    'x-docusign-signature-1-1',
  ])
    assert.equal(outcome({ [name]: digest }), 'signature', name)
  assert.equal(outcome({ 'x-docusign-signature-1': digest }, `${body} `), 'signature')
  const hex = createHmac('sha256', 'key').update(body).digest('hex')
  assert.equal(outcome({ 'x-docusign-signature-1': hex }), 'signature')
})

// https://github.com/PaddleHQ/paddle-node-sdk, its tests of webhooks
test('paddle: the signatures of its package, alone and among others', () => {
  const scheme = paddle({ secret: 'VALID_SECRET' })
  const digest = 'a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9'
  const at = 1_698_796_800
  const signed = (header: string, body = '{"data": ["1", "2"]}', seconds = at) =>
    verify(scheme, body, { 'paddle-signature': header }, seconds)
  assert.equal(signed(`ts=${at};h1=${digest}`), 'malformed', 'signed, though without an event_id')
  const other = '28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261'
  assert.equal(signed(`ts=${at};h1=${other};h1=${other};h2=RANDOM_HASH`, '{"data": "value"}'), 'malformed')
  assert.equal(signed(`ts=9876;h1=${digest}`, undefined, 9876), 'signature')
  assert.equal(signed(`ts=${at};h1=${digest}`, '{ "data": [ "1", "2" ]}'), 'signature')
  assert.equal(signed(`ts=${at};h1=${digest}`, undefined, at + 301), 'signature')
})

// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
test('standardWebhooks: the signature of the specification', () => {
  const headers = {
    'webhook-id': 'msg_loFOjxBNrRLzqYUf',
    'webhook-timestamp': '1731705121',
    'webhook-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
  }
  const scheme = standardWebhooks({ secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl' })
  const body = '{"event_type":"ping","data":{"success":true}}'
  const at = 1_731_705_121
  assert.notEqual(verify(scheme, body, headers, at), 'signature')
  assert.equal(verify(scheme, `${body} `, headers, at), 'signature')
  assert.equal(verify(scheme, body, headers, at + 301), 'signature')
})
