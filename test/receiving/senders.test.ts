// Every preset against the signer that `postern send` has for it: the two were written apart.
import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { samples, type SignedSample } from '../../src/receiving/samples/index.ts'
import { withStored } from '../../src/cli/local-source.ts'
import { redactPayload } from '../../src/events/redact-payload.ts'
import { headersToStore } from '../../src/receiving/endpoint/evaluate.ts'
import {
  adyen,
  auth0,
  bitbucket,
  calendly,
  cloudEvents,
  discord,
  docusign,
  dropbox,
  eventGrid,
  github,
  gitlab,
  hmac,
  hubspot,
  intercom,
  linear,
  mailgun,
  meta,
  microsoftGraph,
  notion,
  paddle,
  pagerduty,
  type Scheme,
  sendgrid,
  sentry,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  type TimedOptions,
  twilio,
  typeform,
  woocommerce,
  x,
  zendesk,
  zoom,
} from '../../src/index.ts'

const now = Date.parse('2026-03-01T12:00:00.000Z')
const url = 'https://hooks.example.com/webhooks/source?tenant=1'

interface Sender {
  preset: (options: TimedOptions) => Scheme
  /** What is sent, and the type that it is expected to have; the same unless told. */
  type: string
  expected?: string
  /** The id; a text, or `digest`, or `unique` for a sender whose requests cannot be told apart. */
  id: string
  isTimed?: boolean
  /** Seconds that its time may differ. Default 300. */
  tolerance?: number
  /** Both halves of a key, where they are not one. */
  keys?: () => readonly [signing: string, verifying: string]
}

const ed25519 = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const hex = (key: Buffer) => key.subarray(-32).toString('hex')
  return [
    hex(privateKey.export({ format: 'der', type: 'pkcs8' })),
    hex(publicKey.export({ format: 'der', type: 'spki' })),
  ] as const
}
const hexKey = () => {
  const key = randomBytes(32).toString('hex')
  return [key, key] as const
}
const p256 = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return [
    privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  ] as const
}

const senders: Record<string, Sender> = {
  provider: {
    preset: (options) => hmac({ header: 'x-signature', ...options }),
    type: 'order.paid',
    id: 'e1',
  },
  stripe: { preset: stripe, type: 'invoice.paid', id: 'evt_e1', isTimed: true },
  github: { preset: github, type: 'issues.opened', id: 'e1' },
  'standard-webhooks': { preset: standardWebhooks, type: 'order.paid', id: 'msg_e1', isTimed: true },
  adyen: { preset: adyen, type: 'AUTHORISATION', id: 'e1:AUTHORISATION:true', keys: hexKey },
  auth0: { preset: auth0, type: 's', id: 'e1' },
  'cloud-events': { preset: cloudEvents, type: 'com.example.order.paid', id: '/sample e1' },
  'event-grid': { preset: eventGrid, type: 'Microsoft.Storage.BlobCreated', id: '/sample e1' },
  bitbucket: { preset: bitbucket, type: 'repo:push', id: 'e1' },
  calendly: { preset: calendly, type: 'invitee.created', id: 'digest', isTimed: true },
  discord: { preset: discord, type: 'APPLICATION_AUTHORIZED', id: 'digest', isTimed: true, keys: ed25519 },
  docusign: { preset: docusign, type: 'envelope-completed', id: '' },
  dropbox: { preset: dropbox, type: 'list_folder', id: 'unique' },
  gitlab: { preset: gitlab, type: 'merge_request.open', id: 'e1', isTimed: true },
  hubspot: { preset: hubspot, type: 'contact.creation', expected: 'batch', id: '', isTimed: true },
  intercom: { preset: intercom, type: 'conversation.user.created', id: 'notif_e1' },
  linear: { preset: linear, type: 'Issue.create', id: 'e1', isTimed: true },
  mailgun: { preset: mailgun, type: 'delivered', id: 'e1', isTimed: true, tolerance: 9 * 3600 },
  meta: { preset: meta, type: 'whatsapp_business_account.messages', id: 'digest' },
  'microsoft-graph': { preset: microsoftGraph, type: 'updated', expected: 'notifications', id: 'unique' },
  notion: { preset: notion, type: 'page.created', id: 'e1' },
  pagerduty: { preset: pagerduty, type: 'incident.triggered', id: 'e1' },
  paddle: { preset: paddle, type: 'transaction.completed', id: 'evt_e1', isTimed: true },
  sendgrid: { preset: sendgrid, type: 'bounce', expected: 'batch', id: 'digest', isTimed: true, keys: p256 },
  sentry: { preset: sentry, type: 'issue.created', id: 'e1' },
  shopify: { preset: shopify, type: 'orders/create', id: 'e1' },
  slack: { preset: slack, type: 'app_mention', id: 'Eve1', isTimed: true },
  square: { preset: square, type: 'payment.updated', id: 'e1' },
  twilio: { preset: twilio, type: 'message.delivered', id: '' },
  typeform: { preset: typeform, type: 'form_response', id: 'e1' },
  woocommerce: { preset: woocommerce, type: 'order.updated', id: '' },
  x: { preset: x, type: 'post.create', id: 'digest' },
  zendesk: { preset: zendesk, type: 'zen:event-type:ticket.created', id: 'e1', isTimed: true },
  zoom: { preset: zoom, type: 'meeting.started', id: 'digest', isTimed: true },
}

/** Their signature covers a part of the body and not the whole. */
const bodyIsNotSigned = new Set([
  'adyen',
  'auth0',
  'cloud-events',
  'event-grid',
  'mailgun',
  'microsoft-graph',
])

test('each sender that postern send can play has a preset, and each preset a sender', () => {
  assert.deepEqual(Object.keys(samples).toSorted(), Object.keys(senders).toSorted())
})

const base64Secret = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`

for (const [name, { preset, type, expected = type, id, isTimed, tolerance = 300, keys }] of Object.entries(
  senders,
)) {
  const [signing, verifying] = keys?.() ?? [base64Secret, base64Secret]
  const other = keys?.()[1] ?? `whsec_${Buffer.from('another').toString('base64')}`
  const sign = (at = now) =>
    samples[name]!({ type, secret: signing, id: 'e1', now: at, data: { text: 'Grüße' }, url })
  const verify = (scheme: Scheme, { headers, body }: SignedSample, at = now) =>
    scheme.verify({ rawBody: Buffer.from(body), headers, now: at, url })
  const outcome = (...given: Parameters<typeof verify>) => {
    const verdict = verify(...given)
    if ('answer' in verdict || 'fetchFirst' in verdict) return 'answered'
    return 'rejected' in verdict ? verdict.rejected : verdict.type
  }

  test(`${name}: a signed sample is accepted with its id and type, which a replay repeats`, () => {
    const sample = sign()
    const scheme = preset({ secret: verifying })
    const verdict = verify(scheme, sample)
    assert.ok('id' in verdict, JSON.stringify(verdict))
    assert.equal(verdict.type, expected)
    const again = verify(scheme, sample)
    assert.ok('id' in again)
    if (id === 'unique') assert.notEqual(again.id, verdict.id)
    else assert.equal(again.id, verdict.id)
    const digest = `sha256:${createHash('sha256').update(sample.body).digest('hex')}`
    if (id !== 'unique' && id !== '') assert.equal(verdict.id, id === 'digest' ? digest : id)
  })

  test(`${name}: another secret, a changed body and any missing header are refused`, () => {
    const sample = sign()
    const scheme = preset({ secret: verifying })
    assert.equal(outcome(preset({ secret: other }), sample), 'signature')
    assert.equal(outcome(preset({ secret: undefined }), sample), 'signature')
    assert.equal(outcome(scheme, { headers: {}, body: '' }), 'signature')
    if (!bodyIsNotSigned.has(name))
      assert.equal(outcome(scheme, { ...sample, body: sample.body.replace('text', 'txet') }), 'signature')
    for (const header of Object.keys(sample.headers).filter((one) =>
      /signature|hmac|token$|timestamp/.test(one),
    )) {
      if (header === 'i-twilio-idempotency-token') continue
      for (const value of [undefined, '', 'x', `${sample.headers[header]}0`]) {
        const headers = { ...sample.headers, [header]: value! }
        assert.equal(outcome(scheme, { ...sample, headers }), 'signature', `${header}: ${value}`)
      }
    }
  })

  test(`${name}: what was stored and shown of an event is signed again`, () => {
    const scheme = preset({ secret: verifying })
    const old = sign(now - 86_400_000)
    const before = verify(scheme, old, now - 86_400_000)
    assert.ok('id' in before)
    const shown = redactPayload(Buffer.from(old.body), name).toString()
    const stored = JSON.parse(headersToStore(old.headers, scheme.signatureHeader)) as Record<string, string>
    const request = { type: before.type, secret: signing, id: before.id, now, data: null, url, raw: shown }
    const { body, headers } = samples[name]!(request)
    const verdict = verify(scheme, { body, headers: withStored(headers, stored) })
    assert.ok('id' in verdict, JSON.stringify(verdict))
    assert.equal(verdict.type, before.type)
    if (id !== 'unique') assert.equal(verdict.id, before.id)
    if (!bodyIsNotSigned.has(name) && name !== 'linear') assert.equal(body, old.body)
  })

  test(`${name}: during a rotation both secrets verify`, () => {
    const sample = sign()
    assert.equal(outcome(preset({ secret: [other, verifying] }), sample), expected)
    assert.equal(outcome(preset({ secret: `${verifying}, ${other}` }), sample), expected)
    const timed = preset({ secret: [{ secret: verifying, until: new Date(now) }, other] })
    assert.equal(outcome(timed, sample, now - 1), expected)
    assert.equal(outcome(timed, sample), 'signature')
  })

  test(`${name}: ${isTimed ? `its signed time may differ by ${tolerance} s either way, or by what is configured` : 'it signs no time'}`, () => {
    const sample = sign()
    for (const offset of [-tolerance - 1, 1 - tolerance, tolerance - 1, tolerance + 1]) {
      const isNear = isTimed !== true || Math.abs(offset) <= tolerance
      assert.equal(
        outcome(preset({ secret: verifying }), sample, now + offset * 1000),
        isNear ? expected : 'signature',
        `${offset} s`,
      )
    }
    if (!isTimed) return
    assert.equal(outcome(preset({ secret: verifying, tolerance: 3600 }), sample, now + 3_500_000), expected)
    assert.equal(outcome(preset({ secret: verifying, tolerance: 5 }), sample, now + 6_000), 'signature')
  })
}

test('gitlab: a secret token is compared, a signing token signs, and neither stands for the other', () => {
  const send = (secret: string) => samples['gitlab']!({ type: 'push', secret, id: 'e1', now, data: {} })
  const accepts = (scheme: Scheme, { headers, body }: SignedSample) =>
    'id' in scheme.verify({ rawBody: Buffer.from(body), headers, now })
  const both = gitlab({ secret: ['plain-token', base64Secret] })
  assert.equal(accepts(both, send('plain-token')), true)
  assert.equal(accepts(both, send(base64Secret)), true)
  assert.equal(accepts(gitlab({ secret: 'plain-token' }), send('plain-token-2')), false)
  const { body } = send('x')
  const sentAsToken = { body, headers: { 'x-gitlab-token': base64Secret } }
  assert.equal(accepts(gitlab({ secret: base64Secret }), sentAsToken), false, 'a signing token never travels')
})

test('hubspot: a retry has the id of the first attempt', () => {
  const scheme = hubspot({ secret: 's' })
  const ids = ['0', '1'].map((attempt) => {
    const { headers, body } = samples['hubspot']!({
      type: 'contact.creation',
      secret: 's',
      id: 'e1',
      now,
      data: {},
      url,
    })
    const changed = body.replace('"attemptNumber":0', `"attemptNumber":${attempt}`)
    const signature = hmacBase64('s', `POST${url}${changed}${now}`)
    const verdict = scheme.verify({
      rawBody: Buffer.from(changed),
      headers: { ...headers, 'x-hubspot-signature-v3': signature },
      now,
      url,
    })
    return 'id' in verdict ? verdict.id : undefined
  })
  assert.ok(ids[0])
  assert.equal(ids[0], ids[1])
})

function hmacBase64(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64')
}

test('twilio: JSON is verified by its digest in the address, and no other body is accepted', () => {
  const scheme = twilio({ secret: 's' })
  const body = '{"type":"com.twilio.x","data":1}'
  const called = `https://hooks.example.com/webhooks/t?bodySHA256=${createHash('sha256').update(body).digest('hex')}`
  const sign = (address: string) => createHmac('sha1', 's').update(address).digest('base64')
  const outcome = (text: string, address: string, type = 'application/json') => {
    const headers = { 'content-type': type, 'x-twilio-signature': sign(address) }
    const verdict = scheme.verify({ rawBody: Buffer.from(text), headers, now, url: address })
    return 'type' in verdict ? verdict.type : 'rejected' in verdict && verdict.rejected
  }
  assert.equal(outcome(body, called), 'com.twilio.x')
  assert.equal(outcome(`${body} `, called), 'signature')
  assert.equal(outcome(body, 'https://hooks.example.com/webhooks/t'), 'signature', 'nothing signs the body')
})

test('twilio: a configured address with a query gets the digest of JSON, and nothing else of the request', () => {
  const configured = 'https://hooks.example.com/webhooks/t?tenant=1'
  const scheme = twilio({ secret: 's', url: configured })
  const body = '{"type":"com.twilio.x"}'
  const digest = `bodySHA256=${createHash('sha256').update(body).digest('hex')}`
  const sign = (text: string) => createHmac('sha1', 's').update(text).digest('base64')
  const outcome = (rawBody: string, signature: string, query: string) => {
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature }
    const url = `http://127.0.0.1:3000/webhooks/t${query}`
    const verdict = scheme.verify({ rawBody: Buffer.from(rawBody), headers, now, url })
    return 'type' in verdict ? verdict.type : 'rejected' in verdict && verdict.rejected
  }
  const signed = sign(`${configured}&${digest}`)
  for (const query of [`?tenant=1&${digest}`, `?${digest}`, `?tenant=1&${digest}&via=proxy`])
    assert.equal(outcome(body, signed, query), 'com.twilio.x', query)
  assert.equal(outcome(body, signed, '?tenant=1'), 'signature')
  assert.equal(outcome(`${body} `, signed, `?tenant=1&${digest}`), 'signature')
  const form = 'MessageStatus=sent'
  assert.equal(outcome(form, sign(`${configured}MessageStatussent`), '?tenant=1'), 'message.sent')
})

test('standard webhooks: a secret that is not base64 is rejected at the start, with what to do', () => {
  for (const secret of ['polar_whs_ovyN8cXYZ', 'whsec_not-base64', 'whsec_', 'mit Leerzeichen', 'abcde'])
    assert.throws(() => standardWebhooks({ secret }), /is base64.*Buffer\.from\(secret\)\.toString/, secret)
  assert.throws(() => gitlab({ secret: 'whsec_a_b' }), TypeError)
  const encoded = Buffer.from('polar_whs_ovyN8cXYZ').toString('base64')
  for (const secret of [encoded, encoded.replace(/=+$/, ''), `whsec_${encoded}`, `v1,whsec_${encoded}`])
    assert.ok(standardWebhooks({ secret }).hasSecret)
})

test('the fields of a form give the types of Twilio and Slack', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
  const types = (fields: Record<string, string>) => {
    const body = new URLSearchParams(fields)
    const text = [...body.keys()]
      .toSorted()
      .map((name) => name + body.get(name))
      .join('')
    const signature = createHmac('sha1', 's')
      .update(url + text)
      .digest('base64')
    const verdict = twilio({ secret: 's' }).verify({
      rawBody: Buffer.from(body.toString()),
      headers: { ...form, 'x-twilio-signature': signature },
      now,
      url,
    })
    assert.ok('type' in verdict)
    assert.match(verdict.reply?.body ?? '', /<Response\/>/)
    return verdict.type
  }
  assert.equal(types({ SmsStatus: 'received', Body: 'hi & bye +1' }), 'message.received')
  assert.equal(types({ CallStatus: 'completed', CallSid: 'CA1' }), 'call.completed')
  assert.equal(types({ EventType: 'onMessageAdded' }), 'onMessageAdded')
  assert.equal(types({ Digits: '1' }), 'callback')

  const time = String(now / 1000)
  const rawBody = Buffer.from(new URLSearchParams({ payload: '{"type":"block_actions"}' }).toString())
  const signature = createHmac('sha256', 's').update(`v0:${time}:${rawBody.toString()}`).digest('hex')
  const headers = { ...form, 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }
  const verdict = slack({ secret: 's' }).verify({ rawBody, headers, now })
  assert.ok('type' in verdict)
  assert.equal(verdict.type, 'block_actions')
  assert.deepEqual(verdict.reply, { status: 200, body: '' })
})
