import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { signatures } from '../../../src/emitting/attempt/signature.ts'
import { asymmetricKey, writePublicKey } from '../../../src/emitting/subscribers/secrets.ts'
import { HmacKey } from '../../../src/crypto/secrets.ts'
import { verifyWebhook } from './webhooks.ts'

const at = Date.parse('2026-01-01T00:00:00Z')
const now = (): number => at
const body =
  '{"id":"e1","type":"order.paid","timestamp":"2026-01-01T00:00:00.000Z","data":{"total":9007199254740993,"é":1}}'
const written = (key: Buffer): string => `whsec_${key.toString('base64')}`
const secret = written(randomBytes(32))
const headersOf = (signed = body, key = secret, id = 'e1', time = at): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(time / 1000),
  'webhook-signature': new Webhook(key).sign(id, new Date(time), signed),
})
const refused = { name: 'NotSignedInError', code: 'invalid-signature', status: 401 }

describe('verifyWebhook', () => {
  test('accepts text and bytes, and headers of all runtimes', async () => {
    const headers = headersOf()
    const bytes = Buffer.from(body)
    for (const raw of [body, bytes, new Uint8Array(bytes), new Uint8Array(bytes).buffer])
      for (const source of [
        headers,
        new Headers(headers),
        { headers },
        new Request('https://a.example', { headers }),
      ]) {
        const event = await verifyWebhook<{ é: number }>(raw, source, secret, { now })
        assert.deepEqual([event.id, event.type, event.data.é], ['e1', 'order.paid', 1])
      }
  })

  test('accepts what Postern signs, with both kinds of keys', async () => {
    const seed = randomBytes(32)
    const bytes = randomBytes(32)
    const keys = [
      { id: 'a', scheme: 'v1', key: new HmacKey('sha256', bytes) },
      { id: 'b', scheme: 'v1a', key: asymmetricKey(seed) },
    ] as const
    const headers = {
      ...headersOf(),
      'webhook-signature': signatures(keys, 'e1', at / 1000, Buffer.from(body)),
    }
    for (const key of [written(bytes), writePublicKey(seed)])
      assert.equal((await verifyWebhook(body, headers, key, { now })).id, 'e1')
    await assert.rejects(verifyWebhook(body, headers, writePublicKey(randomBytes(32)), { now }), refused)
  })

  test('accepts one of several secrets and of several signatures', async () => {
    const old = written(randomBytes(32))
    await verifyWebhook(body, headersOf(), [old, secret], { now })
    const both = `${headersOf(body, old)['webhook-signature']} v9,x ${headersOf()['webhook-signature']}`
    await verifyWebhook(body, { ...headersOf(), 'webhook-signature': both }, secret, { now })
  })

  test('refuses another body, id, time, secret and version', async () => {
    const cases: [string, Record<string, string>][] = [
      [`${body} `, headersOf()],
      [body, { ...headersOf(), 'webhook-id': 'e2' }],
      [body, { ...headersOf(), 'webhook-timestamp': String(at / 1000 + 1) }],
      [body, headersOf(body, written(randomBytes(32)))],
      [
        body,
        { ...headersOf(), 'webhook-signature': headersOf()['webhook-signature']!.replace('v1,', 'v1a,') },
      ],
      [body, { ...headersOf(), 'webhook-signature': 'v1,%%%' }],
      [body, { ...headersOf(), 'webhook-signature': 'v1' }],
    ]
    for (const [raw, headers] of cases)
      await assert.rejects(verifyWebhook(raw, headers, secret, { now }), refused)
    for (const name of Object.keys(headersOf()))
      await assert.rejects(verifyWebhook(body, { ...headersOf(), [name]: '' }, secret, { now }), refused)
  })

  test('refuses what was signed too long ago or in the future', async () => {
    for (const seconds of [-301, 301]) {
      const headers = headersOf(body, secret, 'e1', at + seconds * 1000)
      await assert.rejects(verifyWebhook(body, headers, secret, { now }), refused)
      await verifyWebhook(body, headers, secret, { now, tolerance: 400 })
    }
    await assert.rejects(
      verifyWebhook(body, { ...headersOf(), 'webhook-timestamp': '1e9' }, secret, { now }),
      refused,
    )
  })

  test('refuses an id with a full stop, which could hide a part of the body', async () => {
    const text = `${at / 1000}.${body}`
    const headers = headersOf(text)
    const shifted = { ...headers, 'webhook-id': `e1.${at / 1000}` }
    await assert.rejects(verifyWebhook(body, shifted, secret, { now }), { ...refused, detail: /full stop/ })
  })

  test('finds headers in the case in which a gateway passes them on', async () => {
    const headers = Object.fromEntries(
      Object.entries(headersOf()).map(([name, value]) => [
        name.replaceAll(/(?:^|-)[a-z]/g, (found) => found.toUpperCase()),
        value,
      ]),
    )
    assert.deepEqual(Object.keys(headers), ['Webhook-Id', 'Webhook-Timestamp', 'Webhook-Signature'])
    for (const source of [headers, { headers }])
      assert.equal((await verifyWebhook(body, source, secret, { now })).id, 'e1')
  })

  test('a body that was parsed is a fault of the program, not a wrong signature', async () => {
    for (const parsed of [JSON.parse(body), [1], undefined, null, 1] as string[])
      await assert.rejects(verifyWebhook(parsed, headersOf(), secret, { now }), {
        name: 'TypeError',
        message: /raw bytes/,
      })
  })

  test('a tolerance that is no number accepts nothing', async () => {
    const headers = headersOf(body, secret, 'e1', at - 86_400_000)
    await assert.rejects(verifyWebhook(body, headers, secret, { now, tolerance: Number.NaN }), refused)
  })

  test('tries a bounded number of signatures', async () => {
    const many = `${'v1,AAAA '.repeat(30)}${headersOf()['webhook-signature']}`
    await assert.rejects(
      verifyWebhook(body, { ...headersOf(), 'webhook-signature': many }, secret, { now }),
      refused,
    )
  })

  test('a signed body that is not JSON is 400; a wrong secret is a fault of the program', async () => {
    await assert.rejects(verifyWebhook('x', headersOf('x'), secret, { now }), {
      code: 'invalid-body',
      status: 400,
    })
    const unset = undefined as unknown as string
    for (const wrong of ['', 'whsec_%', 'whsec_A', 'whpk_AAAA', [], unset]) {
      const both = { ...headersOf(), 'webhook-signature': 'v1,AAAA v1a,AAAA' }
      const error = await verifyWebhook(body, both, wrong, { now }).catch((reason: unknown) => reason)
      assert.ok(error instanceof TypeError && /secret/.test(error.message) && !error.message.includes('%'))
    }
  })
})
