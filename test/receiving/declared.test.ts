// What any source can declare: compressed bodies, checks of the address, filters, routes, addresses.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { hmac, twilio } from '../../src/index.ts'
import { readSources } from '../../src/receiving/sources.ts'
import { onOneEngine, startedService } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually } from './harness.ts'

const secret = 'a-secret-of-a-declared-source'
const base = { header: 'x-signature', secret } as const
const sign = (bytes: string | Uint8Array): string => createHmac('sha256', secret).update(bytes).digest('hex')
const accepted = '200 {"received":true}'
const rejected = '401 invalid signature'

test('invalid addresses stop the start', () => {
  for (const addresses of [['localhost'], ['10.0.0.0/33'], ['::1/129'], ['10.0.0.1/a'], ['10.0.0.1/8/8']])
    assert.throws(
      () => readSources({ s: hmac({ ...base, addresses }) }, { webhookSecrets: [secret] }),
      /no addresses or CIDR ranges/,
      addresses[0],
    )
})

test('an invalid pattern of drop stops the start', () => {
  assert.throws(
    () => readSources({ s: hmac({ ...base, drop: ['order*'] }) }, { webhookSecrets: [secret] }),
    /invalid pattern/,
  )
})

onOneEngine('declared', (engine) => {
  let throwing = false
  const service = startedService(engine, () => ({
    parts: { clock: clockWith({ 1_000: 100 }) },
    receiving: {
      sources: {
        plain: hmac(base),
        packed: hmac({ ...base, signedBody: 'compressed' }),
        bytes: hmac({ ...base, id: 'digest', type: { always: 'b' }, mediaTypes: [] }),
        head: hmac({ ...base, verify: { head: true } }),
        get: hmac({ ...base, verify: { get: true } }),
        query: hmac({
          ...base,
          verify: { challenge: { query: 'challenge' }, token: { query: 'token', value: 'right' } },
        }),
        okta: hmac({
          ...base,
          verify: { challenge: { header: 'X-Okta-Verification-Challenge' }, reply: 'verification' },
        }),
        monday: hmac({ ...base, verify: { challenge: { body: 'challenge' } } }),
        types: hmac({ ...base, drop: ['order.draft', 'log.*', '*.noise'] }),
        promised: hmac({ ...base, drop: (async () => Promise.resolve(false)) as never }),
        bodies: hmac({
          ...base,
          drop({ payload }) {
            if (throwing) throw new Error('the predicate fails')
            return (payload as { test?: boolean }).test === true
          },
        }),
        routed: hmac({ ...base, route: { body: 'event.kind' } }),
        near: hmac({ ...base, addresses: ['127.0.0.0/8', '::1'] }),
        far: hmac({ ...base, addresses: ['192.0.2.0/24'] }),
        calls: twilio({ secret }),
      },
    },
  }))
  async function send(
    source: string,
    body: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body: Buffer.from(body),
      headers: { 'content-type': 'application/json', 'x-signature': sign(body), ...headers },
    })
    return `${response.status} ${await response.text()}`
  }
  async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<string> {
    const response = await service.fetch(`/webhooks/${path}`, { method, headers })
    return `${response.status} ${await response.text()}`
  }
  const typesOf = async (source: string): Promise<string[]> =>
    (
      await service.database.reader
        .selectFrom('events')
        .select('type')
        .where('source', '=', source)
        .orderBy('id')
        .execute()
    ).map(({ type }) => type)

  const codings = [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ] as const

  test('compressed bodies are accepted by what their sender signs, and stored plain', async () => {
    for (const [index, [coding, compress]] of codings.entries()) {
      const body = JSON.stringify({ id: `c${index}`, type: coding, text: 'x'.repeat(10_000) })
      const bytes = compress(body)
      const headers = { 'content-encoding': coding }
      assert.equal(await send('plain', bytes, { ...headers, 'x-signature': sign(body) }), accepted)
      assert.equal(await send('plain', bytes, headers), rejected)
      assert.equal(await send('packed', bytes, headers), accepted)
      assert.equal(await send('packed', bytes, { ...headers, 'x-signature': sign(body) }), rejected)
    }
    const { data } = (await (
      await service.admin('/events?source=plain&eventId=c0')
    ).json()) as AnswerTo<'GET /events'>
    const event = (await (await service.admin(`/events/${data[0]!.id}`)).json()) as {
      payload: { text: string }
      headers: Record<string, string>
    }
    assert.equal(event.payload.text.length, 10_000)
    assert.equal(event.headers['content-encoding'], undefined)
  })

  test('a body that is too large when it is decompressed is 413, and a broken one 401', async () => {
    for (const [coding, compress] of codings) {
      const bomb = compress(Buffer.alloc(8 * 1024 * 1024))
      assert.ok(bomb.length < 1024 * 1024)
      assert.match(await send('plain', bomb, { 'content-encoding': coding }), /^413 /)
    }
    for (const bytes of [
      Buffer.from('{"id":"x","type":"a"}'),
      gzipSync('{}').subarray(0, 12),
      Buffer.alloc(0),
    ])
      assert.match(await send('plain', bytes, { 'content-encoding': 'gzip', 'x-signature': 'ab' }), /^401 /)
    assert.equal(
      await send('bytes', gzipSync('a'), { 'content-encoding': 'gzip' }),
      accepted,
      'stored as sent',
    )
  })

  test('the checks that are declared are answered, and others are not', async () => {
    assert.equal(await get('head', {}, 'HEAD'), '200 ')
    assert.match(await get('head'), /^400 /)
    assert.equal(await get('get'), '200 ')
    assert.equal(await get('get', {}, 'HEAD'), '200 ')
    assert.match(await get('plain'), /^405 /)
    assert.match(await get('plain', {}, 'HEAD'), /^405 /)
    assert.equal(await get('query?challenge=abc-1&token=right'), '200 abc-1')
    assert.equal(await get('query?challenge=abc-1&token=wrong'), rejected)
    assert.equal(await get('query?challenge=abc-1'), rejected)
    assert.match(await get('query?challenge=%3Cb%3E&token=right'), /^400 /)
    assert.equal(await get('okta', { 'x-okta-verification-challenge': 'xyz' }), '200 {"verification":"xyz"}')
    assert.match(await get('okta'), /^400 /)
    const challenge = '{"challenge":"abc"}'
    const post = async (body: string, headers: Record<string, string>): Promise<string> => {
      const response = await service.fetch('/webhooks/monday', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return `${response.status} ${await response.text()}`
    }
    assert.equal(await post(challenge, {}), '200 {"challenge":"abc"}')
    assert.equal(await post(challenge, { 'x-signature': 'ab' }), rejected)
    assert.match(await post('{"challenge":"<b>"}', {}), /^400 /)
    assert.equal(await post('{"other":"abc"}', {}), rejected)
    const event = '{"id":"m1","type":"a","challenge":"abc"}'
    assert.equal(await post(event, { 'x-signature': sign(event) }), accepted, 'a signed event is stored')
  })

  test('a trailing slash is accepted, and nothing below it', async () => {
    assert.equal(await send('plain/', '{"id":"slash","type":"a"}'), accepted)
    assert.match(await send('plain//', '{"id":"slash","type":"a"}'), /^404 /)
    assert.match(await send('plain/x', '{"id":"slash","type":"a"}'), /^404 /)
  })

  test('types and bodies are dropped before they are stored, and counted', async () => {
    for (const type of ['order.draft', 'order.drafts', 'log.a', 'log', 'order.paid', 'order.eu.noise'])
      assert.equal(await send('types', `{"id":"${type}","type":"${type}"}`), accepted)
    assert.deepEqual(await typesOf('types'), ['order.drafts', 'log', 'order.paid'])
    assert.equal(await send('bodies', '{"id":"b1","type":"a","test":true}'), accepted)
    assert.equal(await send('bodies', '{"id":"b2","type":"a"}'), accepted)
    assert.equal(
      await send('bodies', '{"id":"b3","type":"a","test":true}', { 'x-signature': 'ab' }),
      rejected,
    )
    throwing = true
    assert.equal(await send('bodies', '{"id":"b4","type":"a","test":true}'), accepted)
    throwing = false
    assert.equal((await typesOf('bodies')).length, 2, 'what the predicate does not decide is stored')
    const shown = await eventually(async () => {
      const { day } = (await (await service.admin('/sources/types')).json()) as {
        day: { dropped: number; accepted: number }
      }
      return day.dropped === 3 && day.accepted === 3 ? day : undefined
    })
    assert.equal(shown.dropped, 3)
    const metrics = await (await service.admin('/metrics')).text()
    assert.match(metrics, /postern_webhooks_total\{source="types",outcome="dropped"\} 3/)
  })

  test('a function that returns a promise drops nothing', async () => {
    assert.equal(await send('promised', '{"id":"p1","type":"a"}'), accepted)
    assert.deepEqual(await typesOf('promised'), ['a'])
  })

  test('the type comes from the declared field, if it has a text', async () => {
    for (const [id, kind] of [
      ['r1', '"deal.won"'],
      ['r2', '5'],
      ['r3', '""'],
      ['r4', '{}'],
    ] as const)
      assert.equal(await send('routed', `{"id":"${id}","type":"plain","event":{"kind":${kind}}}`), accepted)
    assert.deepEqual(await typesOf('routed'), ['deal.won', '5', 'plain', 'plain'])
  })

  test('addresses are checked in addition to the signature, never instead of it', async () => {
    const body = '{"id":"a1","type":"a"}'
    assert.equal(await send('near', body), accepted)
    assert.equal(await send('near', body, { 'x-signature': 'ab' }), rejected)
    assert.equal(await send('far', body), rejected)
    assert.equal(await send('far', body, { 'x-forwarded-for': '192.0.2.1' }), rejected)
  })

  test('twilio: a signed GET is an event, and a forged one is not', async () => {
    const query = '?CallSid=CA1&CallStatus=completed'
    const url = `${service.baseUrl}/webhooks/calls${query}`
    const signature = createHmac('sha1', secret).update(url).digest('base64')
    const headers = { 'x-twilio-signature': signature }
    assert.match(await get(`calls${query}`, headers), /^200 .*<Response\/>/)
    assert.match(await get(`calls${query}`, headers), /^200 /, 'a repetition')
    assert.equal(await get(`calls${query}&To=1`, headers), rejected)
    assert.equal(await get(`calls${query}`), rejected)
    assert.deepEqual(await typesOf('calls'), ['call.completed'])
  })
})
