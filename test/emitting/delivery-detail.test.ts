// What GET /deliveries/{id} shows of the requests: all that was sent, except signatures that could still be used.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { onEachEngine, started, startReceiver, each } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { change, emit, expectJson, removeSubscribers, settled, startEmitting, subscribe } from './harness.ts'

type Detail = AnswerTo<'GET /deliveries/{id}'>

onEachEngine('the requests of a delivery', (engine) => {
  let skipped = 0
  const clock = { ...systemClock, now: () => Date.now() + skipped }
  const service = started(() => startEmitting(engine, { parts: { clock } }))
  afterEach(() => removeSubscribers(service))

  test('body, addresses and expired signatures', async () => {
    await using receiver = await startReceiver(500, 204)
    const owned = {
      url: `${receiver.url}?a=1`,
      owner: 'acme',
      signing: 'both',
      headers: { 'x-token': 'hidden' },
    }
    const { id } = await subscribe(service, owned)
    await emit(service, { type: 'a', data: { text: 'é' }, audience: 'acme' })
    const { id: delivery } = await settled(service, id, 'delivered')
    const moved = `${receiver.url}/moved`
    await change(service, id, { url: moved })
    const read = async () => await expectJson<Detail>(service, 200, `/deliveries/${delivery}`)

    const shown = await read()
    assert.deepEqual([shown.subscriberUrl, shown.owner], [moved, 'acme'])
    assert.equal(shown.payload, receiver.calls[0]!.body.toString())
    assert.equal(shown.payloadBytes, receiver.calls[0]!.body.length)
    assert.equal(shown.attempts.length, 2)
    for (const { url, signature, requestHeaders } of shown.attempts) {
      assert.deepEqual([url, signature], [owned.url, null])
      assert.deepEqual(
        [requestHeaders['webhook-signature'], requestHeaders['x-token']],
        ['[redacted]', '[redacted]'],
      )
      assert.equal(requestHeaders[':url'], undefined)
    }

    skipped += 301_000
    const later = (await read()).attempts.map(({ signature }) => signature)
    assert.deepEqual(
      later,
      receiver.calls.map(({ headers }) => headers['webhook-signature']),
    )
    await expectJson(service, 200, `/subscribers/${id}/rotate-secret`, {
      method: 'POST',
      json: { overlapSeconds: 0 },
    })
    assert.deepEqual(each((await read()).attempts, 'signature'), [null, null], 'the keys are gone')
  })

  test('the signature of a body that is only the data', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url, signatureHeaders: 'svix', body: 'data' })
    await emit(service, { type: 'a', data: { text: 'é' } })
    const { id: delivery } = await settled(service, id, 'delivered')
    await change(service, id, { body: 'event' })
    skipped += 301_000
    const { attempts } = await expectJson<Detail>(service, 200, `/deliveries/${delivery}`)
    assert.equal(attempts[0]!.signature, receiver.calls[0]!.headers['svix-signature'])
    assert.equal(attempts[0]!.requestBody, '{"text":"é"}')
    assert.equal(attempts[0]!.requestBodyBytes, receiver.calls[0]!.body.length)
    assert.equal(attempts[0]!.transformed, false)
  })

  test('the beginning of a long body', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 'x'.repeat(100_000) })
    const { id: delivery } = await settled(service, id, 'delivered')
    const shown = await expectJson<Detail>(service, 200, `/deliveries/${delivery}`)
    assert.equal(shown.payload, receiver.calls[0]!.body.toString().slice(0, 65_536))
    assert.equal(shown.payloadBytes, receiver.calls[0]!.body.length)
    assert.equal(shown.attempts[0]!.requestBody, null)
  })

  test('the beginning of long data that is sent alone', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url, body: 'data' })
    await emit(service, { type: 'a', data: 'x'.repeat(100_000) })
    const { id: delivery } = await settled(service, id, 'delivered')
    const { payload, attempts } = await expectJson<Detail>(service, 200, `/deliveries/${delivery}`)
    const beginning = payload.slice(payload.indexOf('"data":') + '"data":'.length)
    assert.equal(attempts[0]!.requestBody, beginning)
    assert.equal(attempts[0]!.requestBodyBytes, receiver.calls[0]!.body.length)
    assert.ok(receiver.calls[0]!.body.toString().startsWith(beginning))
  })
})
