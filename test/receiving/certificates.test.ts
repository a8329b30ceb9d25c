// Senders that sign with a certificate: PayPal and Amazon SNS. Nothing is fetched but from their hosts, and nothing forged is accepted.
import assert from 'node:assert/strict'
import { createPublicKey, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { paypal, type Scheme, sns } from '../../src/index.ts'
import { weakSources } from '../../src/receiving/sources.ts'
import { issued, type Issued } from '../harness/certificate.ts'
import { engines, started, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import published from './published-messages.json' with { type: 'json' }

const now = Date.now()
const day = 86_400_000
const past = { from: new Date(now - 3 * day), to: new Date(now - day) }

interface Request {
  headers: Record<string, string>
  body: string
}

/** What its hosts serve, by address; a number is the status of an empty response. */
type Served = Record<string, string | number>

/** The verdict, and the addresses that were asked for it. */
async function outcome(
  scheme: Scheme,
  { headers, body }: Request,
  served: Served,
  at = now,
): Promise<[verdict: string, asked: string[]]> {
  const asked: string[] = []
  const fetch = (input: string | URL | globalThis.Request): Promise<Response> => {
    const url = typeof input === 'string' ? input : ''
    asked.push(url)
    const answer = served[url] ?? 404
    return Promise.resolve(
      typeof answer === 'number' ? new Response(null, { status: answer }) : new Response(answer),
    )
  }
  for (let round = 0; round < 4; round += 1) {
    const verdict = scheme.verify({ rawBody: Buffer.from(body), headers, now: at })
    if ('fetchFirst' in verdict) {
      const error = await verdict.fetchFirst(fetch).then(
        () => undefined,
        () => 'unavailable',
      )
      if (error) return [error, asked]
    } else if ('answer' in verdict) return ['answered', asked]
    else if ('rejected' in verdict) return [verdict.fault ?? verdict.rejected, asked]
    else return [`${verdict.id} ${verdict.type}`, asked]
  }
  return ['fetchFirst', asked]
}

const [wrong, missing] = ['signature-wrong', 'signature-missing']
const [root, foreign] = [issued('Root', { isAuthority: true }), issued('Root', { isAuthority: true })]
const middle = issued('Middle', { isAuthority: true, by: root })

// PayPal
const webhookId = '8PT597110X687430LKGECATA'
const signerName = 'messageverificationcerts.paypal.com'
const signer = issued(signerName, { by: middle })
const certUrl = 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77'
const chain = signer.cert + middle.cert
const payment = '{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{}}'
const right = 'WH-1 PAYMENT.CAPTURE.COMPLETED'

interface Sent {
  id?: string
  at?: number
  webhook?: string
  body?: string
  by?: Issued
  url?: string
  hash?: string
  algorithm?: string
}
function fromPaypal({
  id = '69cd13f0-d67a-11e5-baa3-778b53f4ae55',
  at = now,
  webhook = webhookId,
  body = payment,
  by = signer,
  url = certUrl,
  hash = 'sha256',
  algorithm = 'SHA256withRSA',
}: Sent = {}): Request {
  const time = new Date(at).toISOString()
  const text = `${id}|${time}|${webhook}|${crc32(body)}`
  return {
    body,
    headers: {
      'paypal-transmission-id': id,
      'paypal-transmission-time': time,
      'paypal-transmission-sig': sign(hash, Buffer.from(text), by.key).toString('base64'),
      'paypal-cert-url': url,
      'paypal-auth-algo': algorithm,
    },
  }
}
const payPal = (): Scheme => paypal({ webhookId, ca: root.cert })

test('paypal: a signed webhook is accepted, and its certificate fetched once', async () => {
  const scheme = payPal()
  assert.deepEqual(await outcome(scheme, fromPaypal(), { [certUrl]: chain }), [right, [certUrl]])
  assert.deepEqual(await outcome(scheme, fromPaypal({ id: 'retry' }), {}), [right, []])
  const sandbox = 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1'
  const bySandbox = issued('messageverificationcerts.sandbox.paypal.com', { by: root })
  const sent = fromPaypal({ by: bySandbox, url: sandbox })
  assert.deepEqual(await outcome(scheme, sent, { [sandbox]: bySandbox.cert }), [right, [sandbox]])
  const two = paypal({ webhookId: ['OTHER', webhookId], ca: root.cert })
  assert.deepEqual(await outcome(two, fromPaypal(), { [certUrl]: chain }), [right, [certUrl]])
  assert.match(weakSources({ pay: scheme }, true).join(), /pay gets signatures over a CRC-32/)
})

// PayPal's servers made these signatures. Their common key was computed from them, because the certificate is no longer served.
for (const { source, webhookId: webhook, id, time, signature, body } of published.paypal.webhooks)
  test(`paypal: the webhook of ${source} is accepted`, async () => {
    const { certUrl: url, key } = published.paypal
    const at = Date.parse(time)
    const validity = { from: new Date(at - day), to: new Date(at + day) }
    const authority = issued('Root', { isAuthority: true, ...validity })
    const certified = createPublicKey({ key, format: 'jwk' })
    const name = 'messageverificationcerts.sandbox.paypal.com'
    const { cert } = issued(name, { by: authority, certified, ...validity })
    const sent = fromPaypal({ id, url })
    Object.assign(sent.headers, { 'paypal-transmission-time': time, 'paypal-transmission-sig': signature })
    const verdict = (of: string, text: string): Promise<[string, string[]]> =>
      outcome(paypal({ webhookId: of, ca: authority.cert }), { ...sent, body: text }, { [url]: cert }, at)
    const { id: event, event_type: type } = JSON.parse(body) as { id: string; event_type: string }
    assert.deepEqual(await verdict(webhook, body), [`${event} ${type}`, [url]])
    assert.deepEqual(await verdict(webhookId, body), [wrong, [url]])
    assert.deepEqual(await verdict(webhook, body.replace('2', '3')), [wrong, [url]])
  })

test('paypal: forged, replayed and confused webhooks are rejected', async () => {
  const scheme = payPal()
  await outcome(scheme, fromPaypal(), { [certUrl]: chain })
  const good = fromPaypal()
  const headers = (more: Record<string, string>): Request => ({
    ...good,
    headers: { ...good.headers, ...more },
  })
  for (const [what, sent, expected] of [
    ['another body', { ...good, body: payment.replace('WH-1', 'WH-2') }, wrong],
    ['another webhook', fromPaypal({ webhook: 'OTHER' }), wrong],
    ['another key', fromPaypal({ by: issued(signerName, { by: root }) }), wrong],
    ['SHA-1', fromPaypal({ hash: 'sha1' }), wrong],
    ['a header of SHA-1', fromPaypal({ hash: 'sha1', algorithm: 'SHA1withRSA' }), wrong],
    ['no algorithm', headers({ 'paypal-auth-algo': 'none' }), wrong],
    ['another id', headers({ 'paypal-transmission-id': 'other' }), wrong],
    ['another time', headers({ 'paypal-transmission-time': new Date(now + 1000).toISOString() }), wrong],
    ['a time that is invalid', headers({ 'paypal-transmission-time': 'now' }), wrong],
    ['an old time', fromPaypal({ at: now - 301_000 }), 'timestamp-too-old'],
    ['a time to come', fromPaypal({ at: now + 301_000 }), 'timestamp-in-future'],
    ['a signature that is no base64', headers({ 'paypal-transmission-sig': '!' }), wrong],
    ['an empty signature', headers({ 'paypal-transmission-sig': '' }), missing],
    ['no headers', { body: payment, headers: {} }, missing],
  ] as const)
    assert.deepEqual(await outcome(scheme, sent, {}), [expected, []], what)
  assert.deepEqual(await outcome(scheme, good, {}, now + 301_000), ['timestamp-too-old', []])
})

test('paypal: nothing is fetched from another address', async () => {
  const path = '/v1/notifications/certs/CERT-1'
  for (const url of [
    `https://evil.example${path}`,
    `https://api.paypal.com.evil.example${path}`,
    `https://evil-api.paypal.com${path}`,
    `https://api.paypal.com@evil.example${path}`,
    `https://user:password@api.paypal.com${path}`,
    `https://api.paypal.com:8443${path}`,
    `http://api.paypal.com${path}`,
    `https://API.paypal.com${path}`,
    `https://api.paypal.com${path}?x=1`,
    `https://api.paypal.com${path}#x`,
    `https://api.paypal.com/v1/notifications/certs/../../x`,
    `https://api.paypal.com/v1/notifications/certs/%2e%2e`,
    `https://api.paypal.com\\@evil.example${path}`,
    `https://api.paypal.com${path}\nx`,
    ` https://api.paypal.com${path}`,
    'https://127.0.0.1/v1/notifications/certs/CERT-1',
    'file:///v1/notifications/certs/CERT-1',
  ])
    assert.deepEqual(await outcome(payPal(), fromPaypal({ url }), { [url]: chain }), [wrong, []], url)
})

test('paypal: a certificate that nothing trusted has issued, of another name, key or time is rejected', async () => {
  const leaf = issued('shop.example', { by: root })
  for (const [what, by, file] of [
    ['self-signed', issued(signerName), undefined],
    ['another authority of the same name', issued(signerName, { by: foreign }), undefined],
    ['with its own authority', issued(signerName, { by: foreign }), foreign.cert],
    ['of another name', issued('shop.example', { by: root }), undefined],
    ['of a name that contains it', issued(`${signerName}.evil.example`, { by: root }), undefined],
    ['of a name in two lines', issued(`evil.example\nCN=${signerName}`, { by: root }), undefined],
    ['of two names', issued(`evil.example,CN=${signerName}`, { by: root }), undefined],
    ['issued by one that is no authority', issued(signerName, { by: leaf }), leaf.cert],
    ['expired', issued(signerName, { by: root, ...past }), undefined],
    [
      'not valid yet',
      issued(signerName, { by: root, from: new Date(now + day), to: new Date(now + 2 * day) }),
      undefined,
    ],
    ['of 1024 bits', issued(signerName, { by: root, bits: 1024 }), undefined],
  ] as const) {
    const served = { [certUrl]: by.cert + (file ?? '') }
    assert.deepEqual(await outcome(payPal(), fromPaypal({ by }), served), [wrong, [certUrl]], what)
  }
  const oldMiddle = issued('Old', { isAuthority: true, by: root, ...past })
  const below = issued(signerName, { by: oldMiddle })
  const sent = fromPaypal({ by: below })
  assert.deepEqual(await outcome(payPal(), sent, { [certUrl]: below.cert + oldMiddle.cert }), [
    wrong,
    [certUrl],
  ])
  // Without `ca`, only the authorities of Node.js count.
  const strict = paypal({ webhookId })
  assert.deepEqual(await outcome(strict, fromPaypal(), { [certUrl]: chain + root.cert }), [wrong, [certUrl]])
  for (const [what, answer, expected] of [
    ['a redirect', 302, wrong],
    ['not found', 404, wrong],
    ['no certificate', '<html>', wrong],
    ['the signer after another', leaf.cert + chain, wrong],
    ['an error', 500, 'unavailable'],
  ] as const)
    assert.equal((await outcome(payPal(), fromPaypal(), { [certUrl]: answer }))[0], expected, what)
  // It expires while it is cached.
  const scheme = paypal({ webhookId, ca: root.cert, tolerance: 10 * 86_400 })
  await outcome(scheme, fromPaypal(), { [certUrl]: chain })
  assert.equal((await outcome(scheme, fromPaypal(), { [certUrl]: chain }, now + 2 * day))[0], wrong)
})

// Amazon SNS
const topicArn = 'arn:aws:sns:us-west-2:123456789012:MyTopic'
const host = 'https://sns.us-west-2.amazonaws.com'
const snsCertUrl = `${host}/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem`
const amazon = issued('sns.amazonaws.com', { by: root })
const subscribeUrl = `${host}/?Action=ConfirmSubscription&TopicArn=${topicArn}&Token=2336412f37fb`
const servedBySns: Served = {
  [snsCertUrl]: amazon.cert,
  [subscribeUrl]: '<ConfirmSubscriptionResponse><ConfirmSubscriptionResult/></ConfirmSubscriptionResponse>',
}

type Message = Record<string, unknown>
/** Signs as the documentation says, apart from how the preset reads it. */
function fromSns(more: Message = {}, { by = amazon.key, hash = 'sha256' } = {}): Request {
  const message: Message = {
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: topicArn,
    Message: 'Hello\nworld!',
    Timestamp: new Date(now).toISOString(),
    SignatureVersion: '2',
    SigningCertURL: snsCertUrl,
    UnsubscribeURL: `${host}/?Action=Unsubscribe`,
    ...more,
  }
  const names = 'Message MessageId Subject SubscribeURL Timestamp Token TopicArn Type'.split(' ')
  const text = names.flatMap((name) => (name in message ? [name, message[name]] : [])).join('\n')
  const Signature = sign(hash, Buffer.from(`${text}\n`), by).toString('base64')
  return {
    body: JSON.stringify({ Signature, ...message }),
    headers: {
      'content-type': 'text/plain; charset=UTF-8',
      'x-amz-sns-message-type': String(message['Type']),
    },
  }
}
const changed = (request: Request, more: Message): Request => ({
  ...request,
  body: JSON.stringify({ ...(JSON.parse(request.body) as object), ...more }),
})
const subscription = { Type: 'SubscriptionConfirmation', Token: '2336412f37fb', SubscribeURL: subscribeUrl }
const notified = '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324 Notification'

test('sns: notifications are accepted, with and without a subject; version 1 only if it is declared', async () => {
  const scheme = sns({ topicArn })
  assert.deepEqual(await outcome(scheme, fromSns(), servedBySns), [notified, [snsCertUrl]])
  assert.deepEqual(await outcome(scheme, fromSns({ Subject: 'Hi' }), {}), [notified, []])
  const unsubscribed = fromSns({ ...subscription, Type: 'UnsubscribeConfirmation' })
  assert.deepEqual(await outcome(scheme, unsubscribed, {}), [
    notified.replace('Notification', 'UnsubscribeConfirmation'),
    [],
  ])
  const first = fromSns({ SignatureVersion: '1' }, { hash: 'sha1' })
  assert.deepEqual(await outcome(scheme, first, {}), [wrong, []])
  const both = sns({ topicArn, sha1: true })
  assert.deepEqual(await outcome(both, first, servedBySns), [notified, [snsCertUrl]])
  assert.deepEqual(await outcome(both, fromSns(), {}), [notified, []])
  assert.match(weakSources({ s: both }, true).join(), /s accepts signatures with SHA-1/)
  assert.deepEqual(weakSources({ s: scheme }, true), [])
  const china = 'arn:aws-cn:sns:cn-north-1:123456789012:T'
  const url = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem'
  const sent = fromSns({ TopicArn: china, SigningCertURL: url })
  assert.deepEqual(await outcome(sns({ topicArn: china }), sent, { [url]: amazon.cert }), [notified, [url]])
  for (const arn of [
    'MyTopic',
    'arn:aws:sns:evil.example/:123456789012:T',
    'arn:aws:sqs:us-west-2:123456789012:T',
  ])
    assert.throws(() => sns({ topicArn: arn }), /not the ARN of a topic/)
})

test('sns: the message of the tests of the AWS SDK is accepted', async () => {
  const { body, certUrl: url, certificate } = published.sns
  const { TopicArn, Timestamp, MessageId } = JSON.parse(body) as Record<string, string>
  const verdict = (text: string): Promise<[string, string[]]> => {
    const scheme = sns({ topicArn: TopicArn!, sha1: true })
    return outcome(scheme, { body: text, headers: {} }, { [url]: certificate }, Date.parse(Timestamp!))
  }
  assert.deepEqual(await verdict(body), [`${MessageId} Notification`, [url]])
  assert.deepEqual(await verdict(body.replace('boo', 'bar')), [wrong, [url]])
})

test('sns: forged, replayed and confused messages are rejected, and nothing is fetched elsewhere', async () => {
  const scheme = sns({ topicArn, sha1: true })
  await outcome(scheme, fromSns(), servedBySns)
  const good = fromSns()
  const other = issued('sns.amazonaws.com').key
  for (const [what, sent, expected] of [
    ['another message', changed(good, { Message: 'x' }), wrong],
    ['another id', changed(good, { MessageId: 'x' }), wrong],
    ['a subject that was added', changed(good, { Subject: 'x' }), wrong],
    ['another type', changed(good, { ...subscription }), wrong],
    ['an unknown type', fromSns({ Type: 'constructor' }), missing],
    ['another topic', fromSns({ TopicArn: topicArn.replace('MyTopic', 'Other') }), wrong],
    ['another key', fromSns({}, { by: other }), wrong],
    ['SHA-1 as version 2', fromSns({}, { hash: 'sha1' }), wrong],
    ['version 2 as version 1', changed(good, { SignatureVersion: '1' }), wrong],
    ['version 3', changed(good, { SignatureVersion: '3' }), wrong],
    ['a version that is a number', changed(good, { SignatureVersion: 2 }), wrong],
    ['no signature', changed(good, { Signature: undefined }), missing],
    ['a signature that is no base64', changed(good, { Signature: '!' }), wrong],
    ['a message that is no text', changed(good, { Message: { a: 1 } }), wrong],
    // The text is the same, split at another line.
    [
      'an id from the message',
      changed(fromSns({ Message: 'm\nMessageId\nforged' }), {
        Message: 'm',
        MessageId: 'forged\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
      }),
      wrong,
    ],
    ['an old message', fromSns({ Timestamp: new Date(now - 7_201_000).toISOString() }), 'timestamp-too-old'],
    [
      'a message to come',
      fromSns({ Timestamp: new Date(now + 7_201_000).toISOString() }),
      'timestamp-in-future',
    ],
    ['raw delivery', { body: '{"a":1}', headers: { 'x-amz-sns-rawdelivery': 'true' } }, missing],
    ['an array', { body: '[]', headers: {} }, missing],
    ...[
      'https://sns.us-west-2.amazonaws.com.evil.example/SimpleNotificationService-1.pem',
      'https://evil.example/SimpleNotificationService-1.pem',
      'https://sns.us-west-2.amazonaws.com@evil.example/SimpleNotificationService-1.pem',
      'https://user@sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem',
      'http://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem',
      'https://sns.us-west-2.amazonaws.com:8443/SimpleNotificationService-1.pem',
      'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem',
      'https://sns.us-west-2.amazonaws.com.cn/SimpleNotificationService-1.pem',
      'https://sns.us-west-2.amazonaws.com/?x=/SimpleNotificationService-1.pem',
      'https://sns.us-west-2.amazonaws.com/bucket/SimpleNotificationService-1.pem',
      'https://s3.us-west-2.amazonaws.com/SimpleNotificationService-1.pem',
      ['https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem'],
    ].map((url) => [String(url), fromSns({ SigningCertURL: url }), wrong] as const),
  ] as const)
    assert.deepEqual(await outcome(scheme, sent, servedBySns), [expected, []], what)
  const expired = issued('sns.amazonaws.com', { ...past })
  const sent = fromSns({}, { by: expired.key })
  assert.deepEqual(await outcome(sns({ topicArn }), sent, { [snsCertUrl]: expired.cert }), [
    wrong,
    [snsCertUrl],
  ])
  for (const status of [302, 404])
    assert.deepEqual(await outcome(sns({ topicArn }), good, { [snsCertUrl]: status }), [wrong, [snsCertUrl]])
})

test('sns: a subscription is confirmed once, at the host of the topic, and only if it is signed', async () => {
  const scheme = sns({ topicArn })
  const signed = fromSns(subscription)
  const forged = fromSns(subscription, { by: issued('x').key })
  assert.deepEqual(await outcome(scheme, forged, servedBySns), [wrong, [snsCertUrl]])
  const others = fromSns({ ...subscription, TopicArn: topicArn.replace('MyTopic', 'Other') })
  assert.deepEqual(await outcome(scheme, others, servedBySns), [wrong, []])
  for (const url of [
    subscribeUrl.replace('amazonaws.com', 'amazonaws.com.evil.example'),
    subscribeUrl.replace('https:', 'http:'),
    subscribeUrl.replace('sns.', 'user@sns.'),
    subscribeUrl.replace('ConfirmSubscription', 'DeleteTopic'),
    subscribeUrl.replace('/?', '/other?'),
    `${subscribeUrl}#x`,
  ])
    assert.deepEqual(
      await outcome(scheme, fromSns({ ...subscription, SubscribeURL: url }), servedBySns),
      [wrong, []],
      url,
    )
  assert.deepEqual(await outcome(scheme, signed, { [subscribeUrl]: 500 }), ['unavailable', [subscribeUrl]])
  const later = now + 10_000
  assert.deepEqual(await outcome(scheme, signed, servedBySns, later), ['answered', [subscribeUrl]])
  assert.deepEqual(await outcome(scheme, signed, servedBySns, later), ['answered', []])
  assert.deepEqual(await outcome(scheme, signed, servedBySns, now + 7_300_000), ['timestamp-too-old', []])
})

describe('certificates', () => {
  const sources = { paypal: payPal(), sns: sns({ topicArn }) }
  const service = started(async () => {
    // The certificates are cached before the service needs them: the hosts are fixed.
    await outcome(sources.paypal, fromPaypal(), { [certUrl]: chain })
    await outcome(sources.sns, fromSns(subscription), servedBySns)
    return startTestService(engines[0]!, { receiving: { sources } })
  })
  async function send(source: string, { headers, body }: Request): Promise<string> {
    const type = { 'content-type': 'application/json' }
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body,
      headers: { ...type, ...headers },
    })
    return `${response.status} ${await response.text()}`
  }

  test('signed webhooks are stored once, and shown without their secrets', async () => {
    for (let count = 0; count < 2; count += 1) {
      assert.equal(await send('paypal', fromPaypal({ id: `t${count}` })), '200 {"received":true}')
      assert.equal(await send('sns', fromSns()), '200 {"received":true}')
    }
    assert.equal(await send('sns', fromSns(subscription)), '200 ')
    assert.equal(await send('sns', changed(fromSns(), { Message: 'x' })), '401 invalid signature')
    assert.equal(await send('paypal', { ...fromPaypal(), body: '{}' }), '401 invalid signature')
    const { data } = (await (await service.admin('/events')).json()) as AnswerTo<'GET /events'>
    assert.deepEqual(data.map(({ type }) => type).toSorted(), ['Notification', 'PAYMENT.CAPTURE.COMPLETED'])
    const { id } = data.find(({ type }) => type === 'Notification')!
    const shown = (await (await service.admin(`/events/${id}`)).json()) as { payload: Record<string, string> }
    assert.equal(shown.payload['Message'], 'Hello\nworld!')
    assert.equal(shown.payload['Signature'], '[redacted]')
    assert.equal(shown.payload['UnsubscribeURL'], '[redacted]')
  })
})
