import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { endpointId } from '../../../src/emitting/svix/ids.ts'
import { type Answer, onEachEngine, started, startReceiver, each, fields } from '../../harness/index.ts'
import { change, dataOf, deliveries, expectJson, startEmitting, subscribe, until } from '../harness.ts'

interface Attempt {
  id: string
  msgId: string
  endpointId: string
  url: string
  response: string
  responseStatusCode: number
  status: number
  statusText: string
  triggerType: number
  timestamp: string
}

interface List<T = Attempt> {
  data: T[]
  iterator: string | null
  prevIterator?: string
  done: boolean
}

/** An endpoint answers 500 to the first attempt of each message of this type. */
const failing = 'order.failing'

onEachEngine("Attempts in Svix's API", (engine) => {
  const service = started(() => startEmitting(engine))
  const failed = new Set<string>()
  const answer: Answer = (response, { body, headers }) => {
    const id = String(headers['webhook-id'])
    const fails = body.includes(failing) && !failed.has(id)
    failed.add(id)
    response.writeHead(fails ? 500 : 200).end(fails ? 'not now' : 'thanks')
  }
  const receiver = started(() => startReceiver(answer))
  let subscriber = ''
  let endpoint = ''
  const messages: string[] = []

  async function call<T = List>(status: number, path: string, method = 'GET', json?: object): Promise<T> {
    const response = await service.admin(`/api/v1/app/acme/${path}`, { method, ...(json && { json }) })
    const text = await response.text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  const idsOf = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id)

  async function create(json: object): Promise<string> {
    return (await call<{ id: string }>(202, 'msg', 'POST', { eventType: 'order.paid', payload: {}, ...json }))
      .id
  }

  before(async () => {
    await expectJson(service, 200, '/owners/acme', { method: 'PUT', json: { name: 'acme' } })
    subscriber = (await subscribe(service, { owner: 'acme', url: receiver.url })).id
    endpoint = endpointId(subscriber)
    for (let n = 0; n < 4; n += 1) messages.unshift(await create({}))
    messages.unshift(await create({ eventType: failing, channels: ['news'] }))
    await until(
      async () => (await call(200, `attempt/endpoint/${endpoint}?status=0`)).data.length === 5,
      'all messages were delivered',
    )
  })

  test('of an endpoint are listed by message, newest first, with filters', async () => {
    const all = await call(200, `attempt/endpoint/${endpoint}`)
    assert.equal(all.done, true)
    assert.deepEqual(each(all.data, 'msgId'), [messages[0], ...messages])
    const [second, first] = all.data as [Attempt, Attempt]
    assert.deepEqual(fields([first, second], 'status', 'statusText', 'responseStatusCode', 'response'), [
      [2, 'fail', 500, 'not now'],
      [0, 'success', 200, 'thanks'],
    ])
    assert.match(first.id, /^atmpt_[0-9A-Za-z]{27}$/)
    assert.equal(first.url, receiver.url)
    assert.equal(first.endpointId, endpoint)
    const found = async (query: string): Promise<string[]> =>
      idsOf(await call(200, `attempt/endpoint/${endpoint}?${query}`))
    assert.deepEqual(await found('status=2'), [first.id])
    assert.deepEqual(await found('status_code_class=500'), [first.id])
    assert.deepEqual(await found('status=1'), [])
    assert.deepEqual(await found('channel=news'), [second.id, first.id])
    assert.deepEqual(await found(`event_types=${failing}&status=0`), [second.id])
    assert.deepEqual(await found('before=2000-01-01T00:00:00Z'), [])
    assert.equal((await found('after=2000-01-01T00:00:00Z')).length, 6)
    assert.deepEqual(await call(200, `attempt/endpoint/${endpoint}/count?status=0`), {
      count: 5,
      approximated: false,
    })
    assert.equal((await call(200, `attempt/endpoint/${endpoint}?with_content=false`)).data[0]!.response, '{}')
    const path = `attempt/endpoint/${endpoint}?with_msg=true&limit=1`
    const { msg } = (await call<List<{ msg: { id: string; eventType: string } }>>(200, path)).data[0]!
    assert.deepEqual([msg.id, msg.eventType], [messages[0], failing])
  })

  test('are paged in both directions, also within one delivery', async () => {
    const all = idsOf(await call(200, `attempt/endpoint/${endpoint}`))
    const page = (query: string): Promise<List> => call(200, `attempt/endpoint/${endpoint}?${query}`)
    const forward: string[] = []
    let list = await page('limit=1')
    for (forward.push(...idsOf(list)); !list.done; forward.push(...idsOf(list)))
      list = await page(`limit=1&iterator=${list.iterator!}`)
    assert.deepEqual(forward, all)
    const back = await page(`limit=4&iterator=${list.prevIterator!}`)
    assert.deepEqual([idsOf(back), back.done], [all.slice(1, 5), false])
    assert.deepEqual(idsOf(await page(`iterator=${back.prevIterator!}`)), all.slice(0, 1))
    await call(422, `attempt/endpoint/${endpoint}?iterator=nothing`)
    for (const path of ['msg', `endpoint/${endpoint}/msg`]) await call(422, `${path}?iterator=a%00b`)
    const forged = `app_o-${Buffer.from('a\0b').toString('base64url')}.1`
    assert.equal((await service.admin(`/api/v1/app?iterator=${forged}`)).status, 422)
    const ofMessage = idsOf(await call(200, `attempt/msg/${messages[0]!}`))
    assert.deepEqual(ofMessage, all.slice(0, 2))
    const next = await call(200, `attempt/msg/${messages[0]!}?limit=1&iterator=${all[0]!}`)
    assert.deepEqual([idsOf(next), next.done], [[all[1]], true])
  })

  test('lead to messages and endpoints with their outcome', async () => {
    const path = `endpoint/${endpoint}/msg`
    const all = await call(200, path)
    assert.deepEqual(idsOf(all), messages)
    assert.deepEqual([all.data[0]!.status, all.data[0]!.statusText], [0, 'success'])
    assert.deepEqual(idsOf(await call(200, `${path}?limit=2&iterator=${messages[1]!}`)), messages.slice(2, 4))
    assert.deepEqual(idsOf(await call(200, `${path}?status=2`)), [])
    assert.deepEqual(idsOf(await call(200, `${path}?channel=news`)), messages.slice(0, 1))
    const endpoints = await call(200, `msg/${messages[0]!}/endpoint`)
    assert.deepEqual([idsOf(endpoints), endpoints.done, endpoints.data[0]!.status], [[endpoint], true, 0])
  })

  test('of a resend are manual, also at an endpoint that never got the message', async () => {
    const [message] = messages.slice(-1) as [string]
    const other = await startReceiver(200)
    const late = endpointId(
      (await subscribe(service, { owner: 'acme', url: other.url, eventTypes: ['none'] })).id,
    )
    for (const id of [endpoint, late]) await call(202, `msg/${message}/endpoint/${id}/resend`, 'POST')
    const list = async (id: string): Promise<Attempt[]> =>
      (await call(200, `attempt/msg/${message}?endpoint_id=${id}`)).data
    await until(async () => (await list(endpoint)).length === 2, 'the message was sent again')
    assert.deepEqual(each(await list(endpoint), 'triggerType'), [1, 0])
    await until(async () => (await list(late)).length === 1, 'the message was sent to the other endpoint')
    assert.equal(other.calls.length, 1)
    await other.close()
    await call(404, `msg/${message}/endpoint/ep_missing/resend`, 'POST')
    await change(service, subscriber, { status: 'disabled' })
    await call(409, `msg/${message}/endpoint/${endpoint}/resend`, 'POST')
  })

  test('of a resend have one delivery, even if several calls come at once', async () => {
    const [message] = messages.slice(-1) as [string]
    const { id } = await subscribe(service, { owner: 'acme', url: receiver.url, eventTypes: ['none'] })
    const late = endpointId(id)
    await Promise.all(
      Array.from({ length: 8 }, () => call(202, `msg/${message}/endpoint/${late}/resend`, 'POST')),
    )
    assert.equal((await deliveries(service, id)).length, 1)
    await call(204, `endpoint/${late}`, 'DELETE')
  })

  test('do not begin before a scheduled message is sent, or after it is canceled', async () => {
    const { id } = await subscribe(service, { owner: 'acme', url: receiver.url })
    const ep = endpointId(id)
    const message = await create({ deliverAt: new Date(Date.now() + 3_600_000).toISOString() })
    const refused = async (detail: RegExp): Promise<void> => {
      const path = `msg/${message}/endpoint/${ep}/resend`
      assert.match((await call<{ detail: string }>(409, path, 'POST')).detail, detail)
    }
    await refused(/^The event is scheduled for /)
    const [event] = await dataOf<{ id: number }>(service, '/events?status=scheduled')
    await expectJson(service, 204, `/events/${event!.id}`, { method: 'DELETE' })
    await refused(/^The event was canceled at /)
    assert.deepEqual(await deliveries(service, id), [])
    await call(204, `endpoint/${ep}`, 'DELETE')
  })

  test('are shown alone, with their headers', async () => {
    const [attempt] = (await call(200, `attempt/msg/${messages[1]!}`)).data as [Attempt]
    const path = `attempt/${attempt.id}`
    assert.deepEqual(await call(200, `msg/${messages[1]!}/${path}`), attempt)
    await call(404, `msg/${messages[0]!}/${path}`)
    const headers = await call<{ sentHeaders: Record<string, string>; responseHeaders: string[][] }>(
      200,
      `msg/${messages[1]!}/${path}/headers`,
    )
    assert.equal(headers.sentHeaders['webhook-id'], messages[1])
    assert.ok(headers.responseHeaders.some(([name]) => name === 'date'))
  })

  test('show a customer as much of a response as the portal does', async () => {
    await using long = await startReceiver((response) =>
      response.writeHead(200, { 'x-internal': 'secret' }).end('x'.repeat(5000)),
    )
    const id = endpointId((await subscribe(service, { owner: 'acme', url: long.url })).id)
    const message = await create({})
    const attempts = `attempt/msg/${message}?endpoint_id=${id}`
    const [whole] = await until(async () => {
      const { data } = await call(200, attempts)
      return data.length > 0 && data
    }, 'the message was sent')
    const access = await service.admin('/api/v1/auth/app-portal-access/acme', { method: 'POST', json: {} })
    const { token } = (await access.json()) as { token: string }
    const own = async (path: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await service.fetch(`/api/v1/app/acme/${path}`, { headers })).json()
    }
    const names = ({ responseHeaders }: { responseHeaders: string[][] }) =>
      responseHeaders.map(([name]) => name)
    const headers = `msg/${message}/attempt/${whole!.id}/headers`
    assert.equal(whole!.response.length, 5000)
    assert.ok(names(await call(200, headers)).includes('x-internal'))
    assert.equal(((await own(attempts)) as List).data[0]!.response.length, 4096)
    const seen = names((await own(headers)) as { responseHeaders: string[][] })
    assert.deepEqual([seen.includes('x-internal'), seen.includes('date')], [false, true])
    await call(204, `endpoint/${id}`, 'DELETE')
  })

  test('lose the body of their response, and those of a message its content', async () => {
    await change(service, subscriber, { status: 'active' })
    const message = await create({ payload: { secret: 1 } })
    const attempt = async (): Promise<Attempt | undefined> =>
      (await call(200, `attempt/msg/${message}`)).data[0]
    const { id } = await until(attempt, 'the message was sent')
    await call(204, `msg/${message}/attempt/${id}/content`, 'DELETE')
    assert.equal((await attempt())!.response, 'EXPUNGED')

    await call(204, `msg/${message}/content`, 'DELETE')
    assert.deepEqual((await call<{ payload: object }>(200, `msg/${message}`)).payload, { expired: true })
    assert.deepEqual(await call(200, `msg/${message}/raw`), { payload: '{"expired":true}' })
    assert.equal(
      (await call<{ code: string }>(400, `msg/${message}/endpoint/${endpoint}/resend`, 'POST')).code,
      'missing_payload',
    )
    const ids = [messages[0]!, 'unknown']
    assert.deepEqual(await call(200, 'msg/bulk-expunge', 'POST', { ids }), {
      results: { [messages[0]!]: 'expunged', unknown: 'not-found' },
    })
    assert.deepEqual((await call<{ payload: object }>(200, `msg/${messages[0]!}`)).payload, { expired: true })
  })

  test('send a raw payload as it was written', async () => {
    await using raw = await startReceiver(200)
    const settings = { owner: 'acme', url: raw.url, signatureHeaders: 'svix', body: 'data' }
    await subscribe(service, settings)
    const rawPayload = '{ "n" :  1.0 }'
    const id = await create({ transformationsParams: { rawPayload } })
    await until(async () => raw.calls.length === 1, 'the message was sent')
    assert.equal(String(raw.calls[0]!.body), rawPayload)
    assert.equal(raw.calls[0]!.headers['svix-id'], id)
    const json = { eventType: 'order.paid', payload: {}, transformationsParams: { rawPayload: 'no JSON' } }
    await call(422, 'msg', 'POST', json)
  })
})
