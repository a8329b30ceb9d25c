// What senders ask before they send: answered where it is theirs to ask, and never a way to a forged signature.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { discord } from './public-keys.ts'
import { dropbox, intercom, notion, stripe, woocommerce, x, zoom } from './presets.ts'
import { meta } from './meta.ts'
import { microsoftGraph } from './microsoft-graph.ts'
import type { Scheme, VerificationResult } from './scheme.ts'

const now = 1_700_000_000_000
const time = '1700000000'
const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')

const shown = (result: VerificationResult | undefined) => {
  if (result === undefined) return 'not allowed'
  if ('answer' in result) return result.answer
  if ('fetchFirst' in result) return 'fetchFirst'
  return 'rejected' in result ? result.rejected : `${result.id} ${result.type}`
}
const ask = (scheme: Scheme, query: string) =>
  shown(scheme.ask?.({ query: new URLSearchParams(query), headers: {}, now }))
const post = (scheme: Scheme, body: string, headers: Record<string, string>, url = 'https://a.example/w') =>
  shown(scheme.verify({ rawBody: Buffer.from(body), headers, now, url }))
const text = (body: string) => ({ status: 200, body, contentType: 'text/plain; charset=utf-8' })

test('notion: its unsigned token is answered, noted once in ten seconds, and accepts nothing', () => {
  const token = 'secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl'
  const body = `{\n  "verification_token": "${token}"\n}`
  const scheme = notion({ secret: 'placeholder' })
  const noteOf = (text: string, at = now, one = scheme, headers = {}) => {
    const result = one.verify({ rawBody: Buffer.from(text), headers, now: at })
    return 'answer' in result ? (result.note ?? 'answered') : shown(result)
  }
  assert.equal(noteOf(body), `verification_token ${token}`)
  assert.equal(noteOf(body, now + 9_000), 'answered')
  assert.equal(noteOf(body, now + 10_000), `verification_token ${token}`)
  assert.equal(noteOf(body, now, notion({ secret: `placeholder,${token}` })), 'answered')
  for (const other of [
    body.replace('}', ',"type":"page.created","id":"e1"}'),
    body.replace('secret_', 'secret_\\n'),
    body.replace(token, token.repeat(9)),
    `[${body}]`,
    '{"verification_token":"short"}',
    '{"id":"e1","type":"page.created"}',
  ])
    assert.equal(noteOf(other), 'signature', other)
  const event = '{"id":"e1","type":"page.created"}'
  const headers = (secret: string) => ({ 'x-notion-signature': `sha256=${hex(secret, event)}` })
  assert.equal(noteOf(event, now, scheme, headers(token)), 'signature', 'a token that arrived proves nothing')
  assert.equal(noteOf(event, now, notion({ secret: token }), headers(token)), 'e1 page.created')
  assert.equal(noteOf(body, now, scheme, headers(token)), 'signature', 'a signed request is an event')
})

test('zoom: endpoint.url_validation is answered by the secret that signed it', () => {
  const body =
    '{"event":"endpoint.url_validation","event_ts":1700000000000,"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}'
  const headers = (secret: string) => ({
    'x-zm-request-timestamp': time,
    'x-zm-signature': `v0=${hex(secret, `v0:${time}:${body}`)}`,
  })
  for (const secret of ['old', 'new']) {
    const answer = post(zoom({ secret: ['new', 'old'] }), body, headers(secret))
    assert.deepEqual(answer, {
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify({
        plainToken: 'qgg8vlvZRS6UYooatFL8Aw',
        encryptedToken: hex(secret, 'qgg8vlvZRS6UYooatFL8Aw'),
      }),
    })
  }
  assert.equal(post(zoom({ secret: 'new' }), body, headers('forged')), 'signature')
})

test('meta: the challenge is returned for the right verify token', () => {
  const scheme = meta({ secret: 's', verifyToken: 'meatyhamhock' })
  const query = (token: string) => `hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`
  assert.deepEqual(ask(scheme, query('meatyhamhock')), text('1158201444'))
  for (const token of ['', 'meatyhamhoc', 'x']) assert.equal(ask(scheme, query(token)), 'signature')
  assert.equal(
    ask(meta({ secret: 's' }), query('')),
    'signature',
    'no verify token is no token that is known',
  )
})

test('dropbox and intercom: the GET or HEAD of a new address is answered', () => {
  assert.deepEqual(ask(dropbox({ secret: 's' }), 'challenge=abc-_123'), text('abc-_123'))
  for (const forged of ['abc%3Cscript%3E', '%22', '%26', '%0D%0Aa', '%C3%A9', '%00', '%E2%80%AE', ''])
    assert.equal(ask(dropbox({ secret: 's' }), `challenge=${forged}`), 'malformed', forged)
  assert.equal(ask(dropbox({ secret: 's' }), ''), 'malformed')
  assert.equal(ask(dropbox({ secret: 's' }), `challenge=${'x'.repeat(5_000)}`), 'malformed')
  assert.deepEqual(ask(intercom({ secret: 's' }), ''), { status: 200, body: '' })
  assert.equal(ask(stripe({ secret: 's' }), 'challenge=a'), 'not allowed')
})

test('x: the check is answered, and cannot be used to sign a forged event', () => {
  const scheme = x({ secret: 's' })
  const token = 'MjAyMzExMTQyMjEzMjA-_='
  assert.deepEqual(ask(scheme, `crc_token=${token}&nonce=1`), {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({
      response_token: `sha256=${createHmac('sha256', 's').update(token).digest('base64')}`,
    }),
  })
  const forged = '{"for_user_id":"1","follow_events":[]}'
  assert.equal(ask(scheme, `crc_token=${encodeURIComponent(forged)}`), 'malformed')
  for (const token of ['', '[]', '""', ' {}', '\n{}']) {
    assert.equal(ask(scheme, `crc_token=${encodeURIComponent(token)}`), 'malformed', token)
  }
})

test('microsoft graph: the validation token is returned, and every notification must have the secret', () => {
  const scheme = microsoftGraph({ secret: 's' })
  // As documented: a text, encoded for URLs.
  const url = 'https://a.example/w?validationToken='
  const validate = (token: string) => post(scheme, '', { 'content-type': 'text/plain' }, url + token)
  const token =
    'Validation: Testing client application reachability RequestId: 461034c7-9e8b-4bd7-b2aa-c4e0b1a2a5c6'
  assert.deepEqual(validate(encodeURIComponent(token)), text(token))
  for (const forged of ['%3Cb%3E', 'a%22', 'a%0D%0Ab', '%C3%A9', '%1B%5D', '', 'x'.repeat(1_025)])
    assert.equal(validate(forged), 'malformed', forged)
  const body = (...states: string[]) =>
    JSON.stringify({ value: states.map((clientState) => ({ clientState, changeType: 'created' })) })
  assert.match(JSON.stringify(post(scheme, body('s', 's'), {})), / notifications"$/)
  assert.match(
    JSON.stringify(post(scheme, '{"value":[{"clientState":"s","lifecycleEvent":"missed"}]}', {})),
    / lifecycle"$/,
  )
  for (const forged of [
    body(),
    body('s', 'x'),
    body(''),
    '{"value":[null]}',
    '{"value":["s"]}',
    '[]',
    '{',
    '',
  ])
    assert.equal(post(scheme, forged, {}), 'signature', forged)
})

test('woocommerce: of unsigned requests, only the ping is answered', () => {
  const scheme = woocommerce({ secret: 's' })
  assert.deepEqual(post(scheme, 'webhook_id=42', {}), { status: 200, body: '' })
  for (const body of ['webhook_id=', 'webhook_id=4&x=1', '{"id":1}', 'webhook_id=4\n', ''])
    assert.equal(post(scheme, body, {}), 'signature', body)
  assert.equal(post(scheme, 'webhook_id=42', { 'x-wc-webhook-signature': 'AAAA' }), 'signature')
})

test('discord: both kinds of ping are answered when they are signed; interactions are deferred', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const secret = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  const scheme = discord({ secret })
  const send = (body: string) =>
    post(scheme, body, {
      'x-signature-timestamp': time,
      'x-signature-ed25519': sign(null, Buffer.from(time + body), privateKey).toString('hex'),
    })
  assert.deepEqual(send('{"version":1,"type":0}'), { status: 204, body: '' })
  assert.deepEqual(send('{"id":"1","type":1}'), {
    status: 200,
    body: '{"type":1}',
    contentType: 'application/json',
  })
  assert.equal(send('{"id":"77","type":2,"data":{"name":"blep"}}'), '77 application_command')
  assert.equal(send('{"id":"77","type":"constructor"}'), '77 constructor')
  assert.equal(send('{"type":2}'), 'malformed')
  assert.equal(post(scheme, '{"version":1,"type":0}', {}), 'signature')
  assert.throws(() => discord({ secret: 'abc' }), /64 hex digits/)
})

test('an expired secret answers nothing', () => {
  const scheme = x({ secret: [{ secret: 's', until: new Date(now) }] })
  assert.equal(ask(scheme, 'crc_token=abc'), 'signature')
})
