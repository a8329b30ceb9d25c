// The presets against their senders' own packages as the signing side.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { sign as signForGitHub } from '@octokit/webhooks-methods'
import { verifyKey } from 'discord-interactions'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { discord } from './public-keys.ts'
import { github, stripe } from './presets.ts'
import type { Scheme } from './scheme.ts'
import { standardWebhooks } from './standard-webhooks.ts'

const now = 1_700_000_000_000
const seconds = now / 1000
const text = '{"id":"evt_1","type":"invoice.paid","n":12345678901234567890}'

function verify(scheme: Scheme, body: string | Buffer, headers: Record<string, string>, at = now): string {
  const found = scheme.verify({ rawBody: Buffer.from(body), headers, now: at })
  if ('answer' in found) return found.answer.body
  if ('fetchFirst' in found) return 'fetchFirst'
  return 'rejected' in found ? found.rejected : `${found.id} ${found.type}`
}

const stripeHeader = (timestamp: number, secret = 'whsec_test', payload = text) => ({
  'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
})

test('stripe: accepts signatures of the official package, with any of several secrets', () => {
  assert.equal(verify(stripe({ secret: 'whsec_test' }), text, stripeHeader(seconds)), 'evt_1 invoice.paid')
  assert.equal(
    verify(stripe({ secret: 'whsec_new,whsec_test' }), text, stripeHeader(seconds)),
    'evt_1 invoice.paid',
  )
  assert.equal(verify(stripe({ secret: 'whsec_other' }), text, stripeHeader(seconds)), 'signature')
  assert.equal(verify(stripe({ secret: 'whsec_test' }), `${text} `, stripeHeader(seconds)), 'signature')
})

test('stripe: events of connected accounts verify with the secret of their own endpoint alone', () => {
  const event = '{"id":"evt_2","object":"event","account":"acct_1","livemode":false,"type":"account.updated"}'
  const header = stripeHeader(seconds, 'whsec_connect', event)
  const connect = stripe({ secret: 'whsec_connect' })
  assert.equal(verify(connect, event, header), 'evt_2 account.updated')
  assert.equal(verify(stripe({ secret: 'whsec_test' }), event, header), 'signature')
  assert.equal(verify(connect, event.replace('acct_1', 'acct_2'), header), 'signature')
  assert.equal(verify(connect, text, stripeHeader(seconds)), 'signature')
})

test('stripe: during a rotation the header has one v1 for each secret', () => {
  const [, old] = stripeHeader(seconds, 'whsec_old')['stripe-signature'].split(',')
  const both = { 'stripe-signature': `${stripeHeader(seconds)['stripe-signature']},${old}` }
  assert.equal(verify(stripe({ secret: 'whsec_old' }), text, both), 'evt_1 invoice.paid')
})

test('stripe: an incomplete header is refused', () => {
  const scheme = stripe({ secret: 'whsec_test' })
  const [t, v1] = stripeHeader(seconds)['stripe-signature'].split(',')
  for (const header of ['', 't=', t!, v1!, `${t},v0=${v1!.slice(3)}`, `${t},v1=`, `t=${seconds}abc,${v1}`]) {
    assert.equal(verify(scheme, text, { 'stripe-signature': header }), 'signature', header)
  }
  assert.equal(verify(scheme, text, {}), 'signature')
})

test('github: accepts signatures of the official package; the type is event and action', async () => {
  const scheme = github({ secret: 'hush' })
  const headersOf = async (body: string, event = 'issues') => ({
    'x-hub-signature-256': await signForGitHub('hush', body),
    'x-github-event': event,
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  })
  const id = '72d3162e-cc78-11e3-81ab-4c9367dc0958'
  const opened = '{"action":"opened"}'
  assert.equal(verify(scheme, opened, await headersOf(opened)), `${id} issues.opened`)
  for (const body of ['{}', '{"action":""}', '{"action":1}', '{"action":null}']) {
    assert.equal(verify(scheme, body, await headersOf(body, 'push')), `${id} push`)
  }
  assert.equal(verify(scheme, '{"action":"closed"}', await headersOf(opened)), 'signature')
  assert.equal(verify(scheme, opened, { ...(await headersOf(opened)), 'x-github-event': '' }), 'malformed')
  const { 'x-github-delivery': _, ...withoutId } = await headersOf(opened)
  assert.equal(verify(scheme, opened, withoutId), 'malformed')
})

// The vector of GitHub's own page on validating deliveries.
test('github: the documented vector', () => {
  const headers = {
    'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    'x-github-event': 'ping',
    'x-github-delivery': 'd',
  }
  const scheme = github({ secret: "It's a Secret to Everybody" })
  assert.equal(verify(scheme, 'Hello, World!', headers), 'malformed', 'signed, though no JSON')
  assert.equal(verify(scheme, 'Hello, World?', headers), 'signature')
})

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'

test('Standard Webhooks and Svix: accepts signatures of both packages, with both header prefixes', () => {
  const at = new Date(now)
  const scheme = standardWebhooks({ secret })
  const standard = {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': new StandardWebhook(secret).sign(id, at, text),
  }
  const svix = {
    'svix-id': id,
    'svix-timestamp': String(seconds),
    'svix-signature': new SvixWebhook(secret).sign(id, at, text),
  }
  for (const headers of [standard, svix]) {
    assert.equal(verify(scheme, text, headers), `${id} invoice.paid`)
    assert.equal(verify(scheme, `${text} `, headers), 'signature')
    assert.equal(verify(scheme, text, headers, now + 301_000), 'signature')
    assert.equal(verify(scheme, text, headers, now - 301_000), 'signature')
  }
  assert.equal(verify(scheme, text, { ...standard, 'webhook-id': 'msg_other' }), 'signature')
  assert.equal(verify(scheme, text, { ...standard, 'webhook-timestamp': `${seconds}abc` }), 'signature')
  assert.equal(
    verify(scheme, text, {
      ...standard,
      'webhook-signature': `v1,AAAA v1a,x ${standard['webhook-signature']}`,
    }),
    `${id} invoice.paid`,
  )
  for (const name of Object.keys(standard))
    assert.equal(verify(scheme, text, { ...standard, [name]: '' }), 'signature')
})

test('Standard Webhooks: the secret may be with or without whsec_, v1, and padding', () => {
  const body = '{"test": 2432232314}'
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  for (const form of [
    secret,
    secret.slice('whsec_'.length),
    `v1,${secret}`,
    [`v1,${secret}`],
    `${secret}=`,
  ]) {
    // The vector has no type, so that a body that verifies is told to be malformed.
    assert.equal(
      verify(standardWebhooks({ secret: form }), body, headers, 1_614_265_330_000),
      'malformed',
      String(form),
    )
  }
  assert.throws(() => standardWebhooks({ secret: 'not base64!' }), /base64/)
})

test('Standard Webhooks: v1a, with the public key as the secret, beside v1 or alone', () => {
  const pair = generateKeyPairSync('ed25519')
  const publicKey = `whpk_${pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`
  const signature = sign(null, Buffer.from(`${id}.${seconds}.${text}`), pair.privateKey).toString('base64')
  const headersOf = (value: string) => ({
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': value,
  })
  const v1 = new StandardWebhook(secret).sign(id, new Date(now), text)
  for (const [keys, value] of [
    [publicKey, `v1a,${signature}`],
    [publicKey, `v1,AAAA v1a,${Buffer.alloc(64).toString('base64')} v1a,${signature}`],
    [[secret, publicKey], `v1a,${signature}`],
    [[secret, publicKey], v1],
    [`v1a,${publicKey}`, `v1a,${signature}`],
  ] as const) {
    assert.equal(verify(standardWebhooks({ secret: keys }), text, headersOf(value)), `${id} invoice.paid`)
  }
  const scheme = standardWebhooks({ secret: publicKey })
  assert.equal(verify(scheme, `${text} `, headersOf(`v1a,${signature}`)), 'signature')
  assert.equal(verify(scheme, text, headersOf(`v1,${signature}`)), 'signature', 'a v1a as a v1')
  assert.equal(verify(scheme, text, headersOf(v1)), 'signature', 'a public key is no shared secret')
  assert.equal(verify(scheme, text, headersOf(`v1a,${signature}`), now + 301_000), 'signature')
  const forged = createHmac('sha256', Buffer.from(publicKey.slice(5), 'base64')).update(
    `${id}.${seconds}.${text}`,
  )
  assert.equal(
    verify(scheme, text, headersOf(`v1,${forged.digest('base64')}`)),
    'signature',
    'everybody knows the public key',
  )
  // Each takes a hash of the body, so that a long header must not have any number of them.
  const afterWrong = (count: number): string =>
    verify(
      scheme,
      text,
      headersOf(`${`v1a,${Buffer.alloc(64).toString('base64')} `.repeat(count)}v1a,${signature}`),
    )
  assert.deepEqual([afterWrong(11), afterWrong(16)], [`${id} invoice.paid`, 'signature'])
  assert.throws(() => standardWebhooks({ secret: 'whpk_AAAA' }), /32 bytes/)
})

test('github: a webhook whose content type is that of forms has its JSON in payload', async () => {
  const body = new URLSearchParams({ payload: '{"action":"opened"}' }).toString()
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-hub-signature-256': await signForGitHub('hush', body),
    'x-github-event': 'issues',
    'x-github-delivery': 'd',
  }
  assert.equal(verify(github({ secret: 'hush' }), body, headers), 'd issues.opened')
  assert.equal(verify(github({ secret: 'hush' }), `${body}&x=1`, headers), 'signature')
})

test('discord: accepts and refuses the same requests as the official package', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const secret = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  const scheme = discord({ secret })
  const body =
    '{"version":1,"type":1,"event":{"type":"QUEST_USER_ENROLLMENT","timestamp":"2024-10-18T14:42:53"}}'
  const time = String(seconds)
  const signature = sign(null, Buffer.from(time + body), privateKey).toString('hex')
  const flipped = (signature.startsWith('0') ? '1' : '0') + signature.slice(1)
  for (const [isSigned, text, value, at] of [
    [true, body, signature, time],
    [false, `${body} `, signature, time],
    [false, body, flipped, time],
    [false, body, signature.slice(2), time],
    [false, body, '', time],
    [false, body, signature, String(seconds + 1)],
  ] as const) {
    assert.equal(await verifyKey(text, value, at, secret), isSigned)
    const headers = { 'x-signature-ed25519': value, 'x-signature-timestamp': at }
    assert.equal(verify(scheme, text, headers).endsWith('QUEST_USER_ENROLLMENT'), isSigned)
  }
})
