// What goes beyond JSON events over HTTP: questions, forms, replies, addresses that are signed.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { samples } from '../../src/receiving/samples/index.ts'
import {
  cloudEvents,
  dropbox,
  eventGrid,
  hmac,
  intercom,
  meta,
  microsoftGraph,
  slack,
  square,
  twilio,
  type ReceivedEvent,
} from '../../src/index.ts'
import { onEachEngine, rowIn, startedService } from '../harness/index.ts'
import { eventually, settled } from './harness.ts'
import { expectJson } from '../emitting/harness.ts'

const secret = 'sender-secret'

onEachEngine('senders with challenges, signed addresses or other formats than JSON', (engine) => {
  const seen: ReceivedEvent[] = []

  const service = startedService(engine, () => ({
    receiving: {
      sources: {
        slack: slack({ secret }),
        meta: meta({ secret, verifyToken: 'known' }),
        dropbox: dropbox({ secret }),
        intercom: intercom({ secret }),
        graph: microsoftGraph({ secret }),
        broker: cloudEvents({ secret, rateLimit: 2 }),
        grid: eventGrid({ secret }),
        square: square({ secret }),
        twilio: twilio({ secret }),
        feed: hmac({
          header: 'x-sig',
          secret,
          id: 'digest',
          type: { always: 'feed' },
          mediaTypes: ['application/xml'],
        }),
      },
      handlers: { '*': (event) => void seen.push(event) },
    },
  }))

  const stored = async () =>
    (await service.database.reader.selectFrom('events').select('id').execute()).length

  async function post(source: string, body: string | Uint8Array, headers: Record<string, string>) {
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body: Buffer.from(body as string),
      headers,
    })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    }
  }

  const play = (source: string, type: string, id: string, url?: string) => {
    const { headers, body } = samples[source]!({
      type,
      secret,
      id,
      now: Date.now(),
      data: { text: 'hi' },
      ...(url !== undefined && { url }),
    })
    return post(source, body, { 'content-type': 'application/json', ...headers })
  }

  test('a GET challenge is answered, refused without proof, and 405 for other senders', async () => {
    const get = async (path: string, method = 'GET') => {
      const response = await service.fetch(`/webhooks/${path}`, { method })
      return [response.status, response.headers.get('content-type'), await response.text()]
    }
    const before = await stored()
    const plain = 'text/plain; charset=utf-8'
    assert.deepEqual(await get('dropbox?challenge=a%20b'), [200, plain, 'a b'])
    const query = 'meta?hub.mode=subscribe&hub.challenge=42&hub.verify_token='
    assert.deepEqual(await get(`${query}known`), [200, plain, '42'])
    assert.deepEqual(await get(`${query}guess`), [401, plain, 'invalid signature'])
    assert.equal((await get('intercom', 'HEAD'))[0], 200)
    assert.equal((await get('dropbox'))[0], 400)
    assert.equal((await get('square'))[0], 405)
    assert.equal(await stored(), before)
  })

  test('a signed challenge is answered and not stored', async () => {
    const before = await stored()
    const body = '{"type":"url_verification","challenge":"c1"}'
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${signature}`,
    }
    assert.deepEqual(await post('slack', body, headers), {
      status: 200,
      type: 'text/plain; charset=utf-8',
      text: 'c1',
    })
    assert.equal((await post('slack', `${body} `, headers)).status, 401)
    const validation = await post('graph?validationToken=abc', '', { 'content-type': 'text/plain' })
    assert.deepEqual([validation.status, validation.text], [200, 'abc'])
    assert.equal(await stored(), before)
  })

  test('the handshake of CloudEvents allows the sender that asks, and stores nothing', async () => {
    const before = await stored()
    const ask = async (path: string, origin?: string) => {
      const response = await service.fetch(`/webhooks/${path}`, {
        method: 'OPTIONS',
        headers:
          origin === undefined ? {} : { 'webhook-request-origin': origin, 'webhook-request-rate': '120' },
      })
      const { headers, status } = response
      await response.text()
      return [status, headers.get('webhook-allowed-origin'), headers.get('webhook-allowed-rate')]
    }
    assert.deepEqual(await ask('grid', 'eventgrid.azure.net'), [200, 'eventgrid.azure.net', '*'])
    assert.deepEqual(await ask('broker/', 'eventemitter.example.com'), [
      200,
      'eventemitter.example.com',
      '120',
    ])
    assert.deepEqual(await ask('broker?access_token=x', 'a.example'), [200, 'a.example', '120'])
    for (const origin of [undefined, '', '*', 'https://a.example', 'a.example, b.example', 'a'.repeat(254)])
      assert.deepEqual(await ask('grid', origin), [200, null, null], String(origin))
    assert.equal(await stored(), before)
  })

  test('events of CloudEvents in headers, alone and together reach handlers in one form', async () => {
    const by = { authorization: `Bearer ${secret}` }
    const attributes = {
      'ce-specversion': '1.0',
      'ce-id': 'b1',
      'ce-source': '/s',
      'ce-type': 'broker.binary',
    }
    const binary = await post('broker', '<a/>', { ...by, ...attributes, 'content-type': 'text/xml' })
    assert.deepEqual([binary.status, binary.text], [200, '{"received":true}'])
    const first = await eventually(() => seen.find(({ type }) => type === 'broker.binary'))
    assert.deepEqual([first.id, (first.payload as { data: string }).data], ['/s b1', '<a/>'])
    assert.equal(JSON.stringify(first.headers).includes(secret), false)
    const batch = ['g1', 'g2', 'g1'].map((id) => ({ id, topic: '/t', eventType: 'grid.batch', data: { id } }))
    const sent = await post(`grid?access_token=${secret}`, JSON.stringify(batch), {
      'content-type': 'application/json',
    })
    assert.equal(sent.status, 200)
    const both = await eventually(() => {
      const found = seen.filter(({ type }) => type === 'grid.batch')
      return found.length === 2 ? found : undefined
    })
    assert.deepEqual(both.map(({ id }) => id).toSorted(), ['/t g1', '/t g2'])
    assert.deepEqual(
      both.map(({ payload }) => payload).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      batch.slice(0, 2),
    )
    assert.equal(
      (await post('grid?access_token=x', '[]', { 'content-type': 'application/json' })).status,
      401,
    )
  })

  test('a form is verified and stored as bytes, read as fields, and answered as its sender expects', async () => {
    assert.deepEqual(await play('slack', 'slash_command.deploy', 'c1'), { status: 200, type: null, text: '' })
    const event = await eventually(() => seen.find(({ type }) => type === 'slash_command.deploy'))
    assert.equal((event.payload as Record<string, string>)['command'], '/deploy')
    assert.match(event.raw.toString(), /^command=%2Fdeploy&/)
    const { id } = await rowIn(service, 'events', { type: 'slash_command.deploy' })
    const { payloadBase64 } = await expectJson<{ payloadBase64: string }>(service, 200, `/events/${id}`)
    assert.deepEqual(Buffer.from(payloadBase64, 'base64'), event.raw)
  })

  test('the signed address is the requested one', async () => {
    const url = `${service.baseUrl}/webhooks/`
    assert.equal((await play('square', 'payment.updated', 's1', `${url}square`)).status, 200)
    assert.equal((await play('square', 'payment.updated', 's2', `${url}other`)).status, 401)
    const answer = await play('twilio', 'message.received', 't1', `${url}twilio`)
    assert.deepEqual([answer.status, answer.type], [200, 'text/xml; charset=utf-8'])
    assert.match(answer.text, /<Response\/>/)
    assert.equal((await play('twilio', 'message.received', 't2', `${url}square`)).status, 401)
  })

  test('XML is stored unchanged, and an exact repetition is a duplicate', async () => {
    const body = Buffer.concat([
      Buffer.from('<order id="1">'),
      Buffer.from([0xff, 0x00]),
      Buffer.from('</order>'),
    ])
    const headers = {
      'content-type': 'application/xml; charset=iso-8859-1',
      'x-sig': createHmac('sha256', secret).update(body).digest('hex'),
    }
    for (let time = 0; time < 3; time += 1) assert.equal((await post('feed', body, headers)).status, 200)
    await settled(service.database)
    const events = seen.filter(({ source }) => source === 'feed')
    assert.equal(events.length, 1)
    assert.deepEqual(events[0]!.raw, body)
    assert.equal(events[0]!.payload, undefined)
    assert.equal((await post('feed', body, { ...headers, 'content-type': 'text/plain' })).status, 415)
  })

  test('requests without an id are separate events', async () => {
    for (let time = 0; time < 2; time += 1)
      assert.equal((await play('dropbox', 'list_folder', 'd')).status, 200)
    await settled(service.database)
    assert.equal(seen.filter(({ source }) => source === 'dropbox').length, 2)
  })
})
