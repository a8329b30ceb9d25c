import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine, started, fields } from '../../harness/index.ts'
import { emit, expectJson, startEmitting, subscribe } from '../harness.ts'

interface Message {
  id: string
  eventId: string | null
  eventType: string
  payload: Record<string, unknown>
  channels: string[] | null
  timestamp: string
}

interface List {
  data: Message[]
  iterator: string | null
  prevIterator?: string
  done: boolean
}

onEachEngine("Messages in Svix's API", (engine) => {
  const service = started(() => startEmitting(engine))
  let text = ''

  async function call<T = Message>(
    status: number,
    method: string,
    path: string,
    body?: string | object,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const init = {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
    const response = await service.admin(`/api/v1/app/${path}`, init)
    text = await response.text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  const create = (owner: string, body: object, headers?: Record<string, string>): Promise<Message> =>
    call(202, 'POST', `${owner}/msg`, { eventType: 'order.paid', payload: {}, ...body }, headers)

  before(async () => {
    for (const owner of ['acme', 'globex', 'pages'])
      await expectJson(service, 200, `/owners/${owner}`, { method: 'PUT', json: { name: owner } })
  })

  test('keep the digits of numbers, and have the same form in every answer', async () => {
    const created = await call(
      202,
      'POST',
      'acme/msg',
      '{"eventType":"a.b","payload":{"n":1.50,"big":12345678901234567890}}',
    )
    assert.match(text, /"payload":\{"n":1\.50,"big":12345678901234567890\}/)
    assert.match(created.id, /^msg_[0-9A-Za-z]{27}$/)
    assert.deepEqual(await call(200, 'GET', `acme/msg/${created.id}`), created)
    assert.match(text, /"n":1\.50,"big":12345678901234567890/)
    assert.deepEqual((await call<List>(200, 'GET', 'acme/msg?limit=1')).data, [created])
    assert.deepEqual((await call(200, 'GET', `acme/msg/${created.id}?with_content=false`)).payload, {})
    assert.deepEqual(await call<object>(200, 'GET', `acme/msg/${created.id}/raw`), {
      payload: '{"n":1.50,"big":12345678901234567890}',
    })
    await call(404, 'GET', `globex/msg/${created.id}`)
  })

  test('are created once for an eventId, an Idempotency-Key or both', async () => {
    const first = await create('acme', { eventId: 'e-1' })
    assert.equal(
      (await call(409, 'POST', 'acme/msg', { eventType: 'order.paid', payload: {}, eventId: 'e-1' })) &&
        text.includes('conflict'),
      true,
    )
    assert.notEqual((await create('globex', { eventId: 'e-1' })).id, first.id)
    assert.deepEqual(await call(200, 'GET', 'acme/msg/e-1'), first)

    const key = { 'idempotency-key': 'key 1' }
    const keyed = await create('acme', { payload: { a: 1 } }, key)
    assert.deepEqual(await create('acme', { payload: { a: 1 } }, key), keyed)
    assert.deepEqual(await create('acme', { payload: { a: 2 } }, key), keyed)

    const both = await create('acme', { eventId: 'e-2' }, key)
    assert.deepEqual(await create('acme', { eventId: 'e-2' }, key), both)
    const again = { eventType: 'order.paid', payload: {}, eventId: 'e-2' }
    await call(409, 'POST', 'acme/msg', again, { 'idempotency-key': 'key 2' })
  })

  test('are listed in pages, in both directions', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) ids.unshift((await create('pages', { payload: { n } })).id)
    const list = async (query: string): Promise<List & { ids: string[] }> => {
      const page = await call<List>(200, 'GET', `pages/msg?${query}`)
      return { ...page, ids: page.data.map(({ id }) => id) }
    }
    const first = await list('limit=2')
    assert.deepEqual([first.ids, first.done, first.iterator], [ids.slice(0, 2), false, ids[1]])
    const second = await list(`limit=2&iterator=${first.iterator!}`)
    assert.deepEqual([second.ids, second.done], [ids.slice(2, 4), false])
    const third = await list(`limit=2&iterator=${second.iterator!}`)
    assert.deepEqual([third.ids, third.done], [ids.slice(4), true])
    const back = await list(`limit=2&iterator=${third.prevIterator!}`)
    assert.deepEqual([back.ids, back.done], [ids.slice(2, 4), false])
    assert.deepEqual((await list(`limit=3&iterator=${back.prevIterator!}`)).ids, ids.slice(0, 2))
    assert.deepEqual((await list('limit=2&after=2000-01-01T00:00:00Z')).ids, ids.slice(3))
    assert.deepEqual((await list('before=2000-01-01T00:00:00Z')).ids, [])
    await call(422, 'GET', 'pages/msg?iterator=msg_unknown')
  })

  test('are found by event type, channel and tag', async () => {
    const news = await create('globex', { eventType: 'balloon.popped', channels: ['news'], tags: ['a/b'] })
    const other = await create('globex', { eventType: 'balloon.sold', channels: ['new'] })
    const found = async (query: string): Promise<string[]> =>
      (await call<List>(200, 'GET', `globex/msg?${query}`)).data.map(({ id }) => id)
    assert.deepEqual(await found('channel=news'), [news.id])
    assert.deepEqual(await found('tag=a/b'), [news.id])
    assert.deepEqual(await found('event_types=balloon.popped,balloon.sold'), [other.id, news.id])
    assert.deepEqual(await found('event_types=balloon.sold'), [other.id])
    const search = { event_types: ['balloon.popped'], channel: 'news', limit: 5 }
    assert.deepEqual((await call<List>(200, 'POST', 'globex/msg/search', search)).data[0]!.payload, {})
  })

  test('are the events of the customer and those for all, wherever they were emitted', async () => {
    await emit(service, { type: 'all.see', data: { seen: true }, audience: '*' })
    await emit(service, { type: 'nobody.sees', data: {} })
    const own = await emit(service, { type: 'plain.text', data: 'text', audience: 'pages' })
    const { data } = await call<List>(200, 'GET', 'pages/msg?limit=2')
    assert.deepEqual(fields(data, 'eventType', 'payload'), [
      ['plain.text', { data: 'text' }],
      ['all.see', { seen: true }],
    ])
    assert.equal(data[0]!.id, own.eventId)
  })

  test('say before they are created whether an endpoint gets them', async () => {
    const active = async (eventType: string, channels?: string[]): Promise<boolean> =>
      (await call<{ active: boolean }>(200, 'POST', 'acme/msg/precheck/active', { eventType, channels }))
        .active
    assert.equal(await active('order.paid'), false)
    await subscribe(service, { owner: 'acme', url: 'http://127.0.0.1:9/', eventTypes: ['order.*'] })
    assert.equal(await active('order.paid'), true)
    assert.equal(await active('user.created'), false)
  })
})
