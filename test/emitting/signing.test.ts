// Keys that are shown, published and verified by others' libraries.
import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createVerifier, httpbis } from 'http-message-signatures'
import { Webhook as SvixWebhook } from 'svix'
import { Webhook } from 'standardwebhooks'
import { onEachEngine, type ReceivedCall, started, startReceiver } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { change, emit, expectJson, settled, startEmitting, subscribe } from './harness.ts'

type PublishedKey = AnswerTo<'GET /.well-known/webhook-keys/{id}'>['keys'][number]

type Key = AnswerTo<'GET /subscribers/{id}'>['keys'][number]

async function verifies(
  call: ReceivedCall,
  url: string,
  key: (keyId: string) => Parameters<typeof createVerifier>[0],
  prefix = 'webhook',
): Promise<boolean> {
  const result = await httpbis.verifyMessage(
    {
      all: true,
      maxAge: 300,
      requiredFields: ['@method', '@target-uri', 'content-digest', `${prefix}-id`, `${prefix}-timestamp`],
      requiredParams: ['created', 'keyid', 'alg'],
      keyLookup: async ({ keyid, alg }) => ({
        algs: [String(alg)],
        verify: createVerifier(key(String(keyid)), String(alg)),
      }),
    },
    { method: 'POST', url, headers: call.headers as Record<string, string> },
  )
  return result === true
}

onEachEngine('signing', (engine) => {
  const service = started(() => startEmitting(engine))

  test('the libraries of Svix and of Standard Webhooks verify what is sent', async () => {
    await using receiver = await startReceiver()
    const { secret } = await subscribe(service, { url: receiver.url, signing: 'both' })
    await emit(service, { type: 'a', data: { text: 'é😀' } })
    const [call] = await receiver.waitFor(1)
    const headers = call!.headers as Record<string, string>
    for (const library of [new Webhook(secret), new SvixWebhook(secret)])
      library.verify(call!.body.toString(), headers)
    assert.throws(() => new SvixWebhook(secret).verify(call!.body.toString().replace('é', 'e'), headers))
  })

  test("Svix's signature headers, or both kinds, and the data as the body", async () => {
    await using receiver = await startReceiver()
    const { id, secret } = await subscribe(service, {
      url: receiver.url,
      signatureHeaders: 'svix',
      body: 'data',
      httpSignature: true,
    })
    const text = 'é😀,"data":{"text":1}'
    await emit(service, { type: 'a', data: { text, data: { n: 1 } } })
    const [call] = await receiver.waitFor(1)
    const headers = call!.headers as Record<string, string>
    assert.equal(call!.body.toString(), JSON.stringify({ text, data: { n: 1 } }))
    new SvixWebhook(secret).verify(call!.body.toString(), headers)
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('webhook-')),
      [],
    )
    const keyOf = () => Buffer.from(secret.slice(6), 'base64')
    assert.ok(await verifies(call!, receiver.url, keyOf, 'svix'))
    const { attempts } = await settled(service, id, 'delivered')
    const shown = attempts[0] as unknown as { requestHeaders: Record<string, string>; requestBody: string }
    assert.equal(shown.requestBody, call!.body.toString())
    const { 'svix-signature': redacted, 'svix-id': eventId, ...others } = shown.requestHeaders
    assert.deepEqual([redacted, eventId], ['[redacted]', headers['svix-id']])
    assert.ok(!Object.keys(others).some((name) => name.startsWith('webhook-') || name.startsWith(':')))

    await change(service, id, {
      signatureHeaders: 'both',
      gzip: true,
      transformation: 'function handler(w) { w.payload.n = 2; return w }',
    })
    await emit(service, { type: 'a', data: { n: 1 } })
    const [, second] = await receiver.waitFor(2)
    const body = gunzipSync(second!.body).toString()
    assert.equal(body, '{"n":2}')
    const both = second!.headers as Record<string, string>
    for (const prefix of ['webhook', 'svix']) {
      const only = Object.entries(both).filter(([name]) => name.startsWith(`${prefix}-`))
      new SvixWebhook(secret).verify(body, Object.fromEntries(only))
    }
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('signing keys are shown without secrets, and public keys are published', async () => {
    await using receiver = await startReceiver()
    const { id, publicKey, secret } = await subscribe(service, { url: receiver.url, signing: 'both' })
    const { publicKey: second } = await expectJson<{ publicKey: string }>(
      service,
      200,
      `/subscribers/${id}/rotate-secret`,
      {
        method: 'POST',
        json: { overlapSeconds: 60 },
      },
    )
    const text = await (await service.admin(`/subscribers/${id}`)).text()
    const { keys } = JSON.parse(text) as { keys: Key[] }
    assert.deepEqual(
      keys.map(({ scheme, publicKey, expiresAt }) => [scheme, publicKey, expiresAt === null]),
      [
        ['v1a', second, true],
        ['v1', null, true],
        ['v1a', publicKey, false],
        ['v1', null, false],
      ],
    )
    assert.ok(!text.includes(secret.slice(6)) && !text.includes('whsec_'))

    const published = await service.fetch(`/.well-known/webhook-keys/${id}`)
    assert.equal(published.status, 200)
    const set = (await published.json()) as { keys: PublishedKey[] }
    assert.deepEqual(
      set.keys.map(({ kid }) => kid),
      keys.filter(({ scheme }) => scheme === 'v1a').map((key) => key.id),
    )
    await emit(service, { type: 'a', data: 1 })
    const [call] = await receiver.waitFor(1)
    const { headers, body } = call!
    const head = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.`
    const signatures = String(headers['webhook-signature'])
      .split(' ')
      .filter((one) => one.startsWith('v1a,'))
    assert.equal(signatures.length, 2)
    for (const jwk of set.keys) {
      const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
      const message = Buffer.concat([Buffer.from(head), body])
      assert.ok(signatures.some((one) => verify(null, message, key, Buffer.from(one.slice(4), 'base64'))))
    }
    // Nothing is told of who has no public key.
    const plain = await subscribe(service, { url: receiver.url })
    for (const other of [plain.id, '00000000-0000-7000-8000-000000000000', 'x'])
      assert.equal((await service.fetch(`/.well-known/webhook-keys/${other}`)).status, 404)
  })

  test('HTTP message signatures on request: an independent library verifies them with the secret and the published keys', async () => {
    await using receiver = await startReceiver()
    const url = `${receiver.url}?shop=1&name=a%20b`
    const { id, secret } = await subscribe(service, { url, signing: 'both', httpSignature: true })
    await emit(service, { type: 'a', data: { text: 'é' } })
    const [call] = await receiver.waitFor(1)
    const set = (await (
      await service.fetch(`/.well-known/webhook-keys/${id}`)
    ).json()) as AnswerTo<'GET /.well-known/webhook-keys/{id}'>
    const keyOf = (keyId: string) => {
      const jwk = set.keys.find(({ kid }) => kid === keyId)
      return jwk
        ? createPublicKey({ key: { ...jwk }, format: 'jwk' })
        : Buffer.from(secret.slice(6), 'base64')
    }
    assert.ok(await verifies(call!, url, keyOf))
    assert.ok(!(await verifies(call!, `${url}2`, keyOf).catch(() => false)))
    const digest = createHash('sha256').update(call!.body).digest('base64')
    assert.equal(call!.headers['content-digest'], `sha-256=:${digest}:`)
    assert.equal(String(call!.headers['signature-input']).match(/keyid=/g)!.length, 2)
    // The log shows that there was a signature, and not which.
    const { attempts } = await settled(service, id, 'delivered')
    const { requestHeaders } = attempts[0] as unknown as { requestHeaders: Record<string, string> }
    assert.equal(requestHeaders['signature'], '[redacted]')
    assert.equal(requestHeaders['content-digest'], call!.headers['content-digest'])

    await change(service, id, { httpSignature: false })
    await emit(service, { type: 'a', data: 2 })
    const [, second] = await receiver.waitFor(2)
    assert.equal(second!.headers['signature'], undefined)
    for (const name of ['signature', 'Signature-Input', 'content-digest', 'svix-id'])
      await change(service, id, { headers: { [name]: 'x' } }, 400)
  })
})
