import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { onEachEngine, type ReceivedCall, started, startReceiver } from '../harness/index.ts'
import { change, emit, expectJson, startEmitting, subscribe, until } from './harness.ts'

/** Which of the secrets a call's signatures are made with. */
function signers(call: ReceivedCall, secrets: Record<string, string>): string[] {
  return Object.keys(secrets).filter((name) => {
    try {
      new Webhook(secrets[name]!).verify(call.body, call.headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  })
}

onEachEngine('rotation', (engine) => {
  const service = started(() => startEmitting(engine))

  test('both secrets sign until the overlap ends, then only the new one', async () => {
    await using receiver = await startReceiver()
    const { id, secret: first } = await subscribe(service, { url: receiver.url })
    const rotate = async (json?: unknown) =>
      (
        await expectJson<{ secret: string }>(service, 200, `/subscribers/${id}/rotate-secret`, {
          method: 'POST',
          ...(json !== undefined && { json }),
        })
      ).secret
    const second = await rotate()
    await emit(service, { type: 'a', data: 1 })
    await receiver.waitFor(1)
    const secrets = { first, second }
    assert.deepEqual(signers(receiver.calls[0]!, secrets), ['first', 'second'])
    assert.equal(String(receiver.calls[0]!.headers['webhook-signature']).split(' ').length, 2)

    const third = await rotate({ overlapSeconds: 0.3 })
    await until(async () => {
      const { length } = receiver.calls
      await emit(service, { type: 'a', data: 2 })
      await receiver.waitFor(length + 1)
      return signers(receiver.calls.at(-1)!, { ...secrets, third }).join() === 'third'
    }, 'the third secret signs alone')

    const fourth = await rotate({ overlapSeconds: 0 })
    const { length } = receiver.calls
    await emit(service, { type: 'a', data: 3 })
    await receiver.waitFor(length + 1)
    assert.deepEqual(signers(receiver.calls.at(-1)!, { ...secrets, third, fourth }), ['fourth'])
  })

  test('at most eleven secrets sign; an invalid overlap is rejected', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    const path = `/subscribers/${id}/rotate-secret`
    for (let n = 0; n < 13; n += 1) await expectJson(service, 200, path, { method: 'POST' })
    await emit(service, { type: 'a', data: 1 })
    const [call] = await receiver.waitFor(1)
    assert.equal(String(call!.headers['webhook-signature']).split(' ').length, 11)
    for (const overlapSeconds of [-1, '5', 1e9, null])
      await expectJson(service, 400, path, { method: 'POST', json: { overlapSeconds } })
    await expectJson(service, 404, '/subscribers/00000000-0000-7000-8000-000000000000/rotate-secret', {
      method: 'POST',
    })
  })

  test('ed25519 on request: the public key is shown, and verifies', async () => {
    await using receiver = await startReceiver()
    const { id, secret } = await subscribe(service, { url: receiver.url })
    const { publicKey } = await change<{ publicKey: string }>(service, id, { signing: 'both' })
    assert.deepEqual(
      (await expectJson<{ publicKeys: string[] }>(service, 200, `/subscribers/${id}`)).publicKeys,
      [publicKey],
    )
    await emit(service, { type: 'a', data: 1 })
    const [call] = await receiver.waitFor(1)
    assert.deepEqual(signers(call!, { secret }), ['secret'])
    const signature = /v1a,(\S+)/.exec(String(call!.headers['webhook-signature']))![1]!
    const message = Buffer.concat([
      Buffer.from(
        `${call!.headers['webhook-id'] as string}.${call!.headers['webhook-timestamp'] as string}.`,
      ),
      call!.body,
    ])
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey.slice(5), 'base64').toString('base64url') },
      format: 'jwk',
    })
    assert.ok(verify(null, message, key, Buffer.from(signature, 'base64')))
  })
})
