// What a sender can do wrong with a body, over a raw connection where fetch would not let us.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { test } from 'node:test'
import { mailgun } from '../../src/index.ts'
import {
  engines,
  findRow,
  onEachEngine,
  onOneEngine,
  startedService,
  startTestService,
} from '../harness/index.ts'
import { eventually, postWebhook, sign } from './harness.ts'

const bodyLimit = 10_000

onEachEngine('stored webhooks', (engine) => {
  const service = startedService(engine)

  test('an id and a type of 256 characters of any script are accepted', async () => {
    const id = `${'é'.repeat(250)}😀'"\\\n`
    assert.equal((await postWebhook(service, { id, type: 'テ'.repeat(256) })).status, 200)
    const row = await findRow(service, 'event_queue', { event_id: id })
    assert.ok(row)
  })

  test('a byte order mark before JSON is accepted, stored with the body, and not shown within a response', async () => {
    const body = '\ufeff{"id":"marked","type":"a","n":9007199254740993}'
    assert.equal((await postWebhook(service, body)).status, 200)
    const { event, payload } = await service.database.reader
      .selectFrom('events')
      .select(['id as event', 'payload'])
      .where('event_id', '=', 'marked')
      .executeTakeFirstOrThrow()
    assert.equal(Buffer.from(payload).toString(), body)
    const shown = await (await service.admin(`/events/${event}`)).text()
    assert.match(shown, /"payload":\{"id":"marked","type":"a","n":9007199254740993\}\}$/)
  })

  test('payloads with \\u0000 and lone surrogates are stored', async () => {
    assert.equal((await postWebhook(service, '{"id":"nul","type":"a","text":"\\u0000\\ud800"}')).status, 200)
  })
})

onOneEngine('bodies of webhooks', (engine) => {
  const service = startedService(engine, () => ({
    env: { WEBHOOK_BODY_LIMIT: String(bodyLimit) },
    config: { receiving: { sources: { mail: mailgun({ secret: 'a-signing-key-of-mailgun' }) } } },
  }))

  const stored = async () =>
    (await service.database.reader.selectFrom('events').select('id').execute()).length

  /** Sends the parts one after the other, and gives the whole answer once the server has closed or answered. */
  const raw = (...parts: (string | Buffer)[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.baseUrl)
      const socket = connect(Number(port), hostname)
      let answer = ''
      socket.setEncoding('latin1').on('data', (text: string) => {
        answer += text
        if (/^HTTP.*\r\n\r\n./s.test(answer)) socket.destroy()
      })
      socket.on('close', () => resolve(answer))
      // The server may close while we still write: what counts is its answer.
      socket.on('error', (error: NodeJS.ErrnoException) =>
        answer || /EPIPE|ECONNRESET/.test(error.code ?? '') ? resolve(answer) : reject(error),
      )
      for (const part of parts) socket.write(part)
    })
  const head = (...headers: string[]) =>
    `POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers.join('\r\n')}\r\n\r\n`

  test('a body of exactly the limit is accepted, one byte more is 413', async () => {
    const empty = JSON.stringify({ id: 'limit', type: 'a', pad: '' }).length
    const fits = JSON.stringify({ id: 'limit', type: 'a', pad: 'x'.repeat(bodyLimit - empty) })
    assert.equal(fits.length, bodyLimit)
    assert.equal((await postWebhook(service, fits)).status, 200)
    const response = await postWebhook(service, `${fits} `)
    assert.equal(response.status, 413)
    assert.equal(((await response.json()) as { code: string }).code, 'body-too-large')
  })

  test('a chunked body is cut off at the limit while it streams', async () => {
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    // Without its end: the answer must come before.
    const answer = await raw(head('transfer-encoding: chunked', 'x-signature: 00'), chunk, chunk, chunk)
    assert.match(answer, /^HTTP\/1\.1 413 /)
  })

  test('a declared length above the limit is refused before the body arrives', async () => {
    assert.match(await raw(head('content-length: 1000000000')), /^HTTP\/1\.1 413 /)
  })

  test('a chunked body below the limit is taken', async () => {
    const body = JSON.stringify({ id: 'chunked', type: 'a' })
    const chunks = body
      .split('')
      .map((character) => `1\r\n${character}\r\n`)
      .join('')
    const answer = await raw(
      head('transfer-encoding: chunked', `x-signature: ${sign(body)}`),
      chunks,
      '0\r\n\r\n',
    )
    assert.match(answer, /^HTTP\/1\.1 200 /)
  })

  test('checks size, then signature, then media type, then form', async () => {
    const large = 'x'.repeat(bodyLimit + 1)
    assert.equal(
      (await postWebhook(service, large, { 'content-type': 'text/plain', 'x-signature': null })).status,
      413,
    )
    const broken = '{broken'
    for (const signature of [null, 'ff'.repeat(32)]) {
      const headers = { 'content-type': 'text/plain', 'x-signature': signature }
      assert.equal((await postWebhook(service, broken, headers)).status, 401)
    }
    assert.equal((await postWebhook(service, broken, { 'content-type': 'text/plain' })).status, 415)
    assert.equal((await postWebhook(service, broken)).status, 400)
  })

  test('JSON of any spelling and suffix is accepted', async () => {
    for (const [index, type] of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON',
      'application/cloudevents+json',
      'application/vnd.x+json; v=1',
    ].entries()) {
      const { status } = await postWebhook(
        service,
        { id: `type-${index}`, type: 'a' },
        { 'content-type': type },
      )
      assert.equal(status, 200, type)
    }
  })

  const refused = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json-seq',
    'text/json',
    'json',
    'application/xml',
    '/',
    ';',
    'application/',
  ]
  for (const type of [...refused, null]) {
    test(`media type ${type ?? '(none)'} is 415, and 401 without a signature`, async () => {
      const before = await stored()
      assert.equal(
        (await postWebhook(service, { id: 'refused', type: 'a' }, { 'content-type': type })).status,
        415,
      )
      const unsigned = await postWebhook(service, '{}', { 'content-type': type, 'x-signature': null })
      assert.equal(unsigned.status, 401)
      assert.equal(await unsigned.text(), 'invalid signature')
      assert.equal(await stored(), before)
    })
  }

  const quoted = (text: string) => JSON.stringify(text)
  const malformed: [why: string, body: string | Uint8Array][] = [
    [
      'broken UTF-8 in a string',
      Buffer.from([...Buffer.from('{"id":"a","type":"'), 0xff, ...Buffer.from('"}')]),
    ],
    ['a byte order mark of UTF-16', Buffer.from('\ufeff{"id":"a","type":"a"}', 'utf16le')],
    ['a truncated sequence at the end', Buffer.from([0x7b, 0x7d, 0xc3])],
    ['NUL in the id', '{"id":"a\\u0000b","type":"a"}'],
    ['NUL in the type', '{"id":"a","type":"\\u0000"}'],
    ['half a surrogate pair in the id', '{"id":"\\ud800","type":"a"}'],
    ['half a surrogate pair in the type', '{"id":"a","type":"\\udc00a"}'],
    ['an id of 257 characters', `{"id":${quoted('x'.repeat(257))},"type":"a"}`],
    ['a type of 257 characters', `{"id":"a","type":${quoted('x'.repeat(257))}}`],
    ['an id that only the prototype has', '{"__proto__":{"id":"a"},"type":"a"}'],
    ['two values', '{"id":"a","type":"a"}{}'],
    ['deep nesting', '['.repeat(9_000)],
    ['a number', '1e999'],
  ]
  for (const [why, body] of malformed) {
    test(`400 for ${why}`, async () => {
      const before = await stored()
      const response = await postWebhook(service, body)
      assert.equal(response.status, 400)
      assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json/)
      assert.equal(((await response.json()) as { code: string }).code, 'malformed-event')
      assert.equal(await stored(), before)
    })
  }

  test('a compressed body is verified by its plain bytes; an unknown coding is 415 if it is signed, and 401 otherwise', async () => {
    const plain = '{"id":"gzip","type":"a"}'
    const compressed = gzipSync(plain)
    const headers = { 'content-encoding': 'gzip' }
    const signed = { ...headers, 'x-signature': sign(plain) }
    assert.equal((await postWebhook(service, compressed, signed)).status, 200)
    assert.equal(
      (await postWebhook(service, compressed, headers)).status,
      401,
      'signed after it was compressed',
    )
    const unknown = await postWebhook(service, compressed, { 'content-encoding': 'zstd' })
    assert.equal(unknown.status, 415)
    const { code, detail } = (await unknown.json()) as { code: string; detail: string }
    assert.equal(code, 'unsupported-media-type')
    assert.match(detail, /Content-Encoding: zstd/)
    assert.equal(
      (await postWebhook(service, { id: 'plain', type: 'a' }, { 'content-encoding': 'identity' })).status,
      200,
    )
  })

  test('the log has the reason of a body that cannot be verified because it cannot be read', async () => {
    const post = (headers: Record<string, string>) =>
      service.fetch('/webhooks/mail', { method: 'POST', body: '{}', headers })
    const json = { 'content-type': 'application/json' }
    const parts = { 'content-type': 'multipart/form-data; boundary=x' }
    for (const headers of [{ ...json, 'content-encoding': 'gzip' }, parts, { 'content-type': 'text/plain' }])
      assert.equal((await post(headers)).status, 401)
    const refused = await eventually(async () => {
      const list = await service.admin('/rejected-webhooks?source=mail')
      const { data } = (await list.json()) as { data: { reason: string; detail: string }[] }
      return data.length === 3 && data.map(({ reason, detail }) => `${reason}: ${detail}`).toSorted()
    }, 'the log of the refusals')
    assert.deepEqual(refused, [
      'media-type: Content-Encoding: gzip. Only valid gzip, deflate and br are decompressed.',
      'media-type: Content-Type: multipart/form-data. Its parts, such as attachments, are not read.',
      'signature-missing: the body has no signature',
    ])
  })

  test('Origin and cookies are ignored', async () => {
    const headers = { origin: 'https://evil.example', cookie: 'session=x', 'sec-fetch-site': 'cross-site' }
    assert.equal((await postWebhook(service, { id: 'origin', type: 'a' }, headers)).status, 200)
  })

  test('concurrent requests each get their own response', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const kind = index % 3
        const body = kind === 1 ? '{broken' : JSON.stringify({ id: `together-${index}`, type: 'a' })
        const { status } = await postWebhook(service, body, kind === 2 ? { 'x-signature': '00' } : {})
        return [kind, status]
      }),
    )
    for (const [kind, status] of answers) assert.equal(status, [200, 400, 401][kind!])
  })
})

test('each of the comma-separated secrets in WEBHOOK_SECRET verifies, and no other', async () => {
  await using service = await startTestService(engines[0]!, {
    env: { WEBHOOK_SECRET: 'new-secret, old-secret' },
  })
  const body = JSON.stringify({ id: 'rotated', type: 'a' })
  for (const secret of ['new-secret', 'old-secret'])
    assert.equal((await postWebhook(service, body, { 'x-signature': sign(body, secret) })).status, 200)
  for (const secret of ['new-secret, old-secret', '', 'other'])
    assert.equal((await postWebhook(service, body, { 'x-signature': sign(body, secret) })).status, 401)
})
