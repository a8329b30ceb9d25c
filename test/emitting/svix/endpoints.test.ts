import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Webhook } from 'svix'
import { onEachEngine, started, startReceiver } from '../../harness/index.ts'
import { expectJson, startEmitting, until } from '../harness.ts'

interface Endpoint {
  id: string
  [field: string]: unknown
}

interface Faults {
  detail: { loc: string[]; msg: string; type: string }[]
}

onEachEngine("endpoints of Svix's API", (engine) => {
  const service = started(() => startEmitting(engine))
  let app = ''

  /** Calls the API below `/api/v1/app/{app}`. */
  async function call<T>(status: number, method: string, path: string, json?: unknown, of = app): Promise<T> {
    const response = await service.admin(`/api/v1/app/${of}${path}`, { method, json })
    const text = await response.text()
    assert.equal(response.status, status, text)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  const create = (json: object): Promise<Endpoint> => call(201, 'POST', '/endpoint', json)

  async function newApp(name: string): Promise<string> {
    const json = { name }
    return (await expectJson<{ id: string }>(service, 201, '/api/v1/app', { method: 'POST', json })).id
  }

  before(async () => {
    app = await newApp('E')
    const schemas = { 1: { examples: [{ name: 'Jo' }] } }
    await expectJson(service, 201, '/event-types/user.created', {
      method: 'PUT',
      json: { description: '', schemas },
    })
    await expectJson(service, 201, '/event-types/user.deleted', { method: 'PUT', json: { description: '' } })
  })

  test('an endpoint has the names of all libraries, and the settings of Svix', async () => {
    const made = await create({
      url: 'http://127.0.0.1:1',
      uid: 'main',
      metadata: { team: 'a' },
      filterTypes: ['user.created'],
      rateLimit: 7,
      channels: ['b', 'b', 'a'],
    })
    const { id, createdAt, updatedAt, ...rest } = made
    assert.match(id, /^ep_[0-9A-Za-z]{27}$/)
    assert.equal(createdAt, updatedAt)
    assert.deepEqual(rest, {
      uid: 'main',
      url: 'http://127.0.0.1:1/',
      description: '',
      disabled: false,
      eventTypes: ['user.created'],
      filterTypes: ['user.created'],
      channels: ['b', 'a'],
      throttleRate: 7,
      rateLimit: 7,
      version: 1,
      metadata: { team: 'a' },
    })
    assert.deepEqual(await call(200, 'GET', `/endpoint/${id}`), made)
    assert.deepEqual(await call(200, 'GET', '/endpoint/main'), made)
    const { data } = await expectJson<{ data: Record<string, unknown>[] }>(
      service,
      200,
      '/subscribers?limit=1',
    )
    const { signatureHeaders, body, retrySchedule } = data[0]!
    assert.deepEqual(
      { signatureHeaders, body, retrySchedule },
      {
        signatureHeaders: 'svix',
        body: 'data',
        retrySchedule: [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000],
      },
    )
    const other = await newApp('other')
    for (const name of [id, 'main']) await call(404, 'GET', `/endpoint/${name}`, undefined, other)
    assert.equal(
      (await call<{ code: string }>(409, 'POST', '/endpoint', { url: made['url'], uid: 'main' })).code,
      'conflict',
    )
    await call(201, 'POST', '/endpoint', { url: made['url'], uid: 'main' }, other)
  })

  test('PUT replaces all settings, or creates; PATCH changes the given ones', async () => {
    const url = 'http://127.0.0.1:1/put'
    const full = {
      url,
      uid: 'put',
      description: 'One',
      channels: ['a'],
      metadata: { a: '1' },
      throttleRate: 2,
      disabled: true,
    }
    const { id, ...made } = await call<Endpoint>(201, 'PUT', '/endpoint/absent', full)
    assert.deepEqual({ ...made, ...full }, made)
    const patched = await call<Endpoint>(200, 'PATCH', `/endpoint/${id}`, {
      description: 'Two',
      throttleRate: null,
    })
    assert.deepEqual(patched, {
      ...made,
      id,
      description: 'Two',
      throttleRate: null,
      rateLimit: null,
      updatedAt: patched['updatedAt'],
    })
    const replaced = await call<Endpoint>(200, 'PUT', `/endpoint/${id}`, { url })
    const { description, uid, channels, metadata, disabled } = replaced
    assert.deepEqual([description, uid, channels, metadata, disabled], ['', null, null, {}, false])
    await call(204, 'DELETE', `/endpoint/${id}`)
    await call(404, 'PATCH', `/endpoint/${id}`, {})
  })

  test('an endpoint that was paused in Postern stays paused', async () => {
    const { id } = await create({ url: 'http://127.0.0.1:1/paused' })
    const { data } = await expectJson<{ data: { id: string }[] }>(service, 200, '/subscribers?limit=1')
    const path = `/subscribers/${data[0]!.id}`
    await expectJson(service, 200, path, { method: 'PATCH', json: { status: 'paused' } })
    assert.equal(
      (await call<Endpoint>(200, 'PUT', `/endpoint/${id}`, { url: 'http://127.0.0.1:1/x' }))['disabled'],
      false,
    )
    assert.equal((await expectJson<{ status: string }>(service, 200, path)).status, 'paused')
  })

  test('pages go on behind an iterator, and back', async () => {
    app = await newApp('pages')
    for (const path of 'abcde') await create({ url: `http://127.0.0.1:1/${path}`, disabled: true })
    interface Page {
      data: { url: string }[]
      iterator: string
      prevIterator: string
      done: boolean
    }
    const pathsOf = ({ data, done }: Page): [string, boolean] => [
      data.map(({ url }) => url.at(-1)).join(''),
      done,
    ]
    const page = (query: string): Promise<Page> => call(200, 'GET', `/endpoint?${query}`)
    const first = await page('limit=2')
    assert.deepEqual(pathsOf(first), ['ed', false])
    const second = await page(`limit=2&iterator=${first.iterator}`)
    assert.deepEqual(pathsOf(second), ['cb', false])
    assert.deepEqual(pathsOf(await page(`limit=2&iterator=${second.iterator}`)), ['a', true])
    assert.deepEqual(pathsOf(await page(`limit=2&iterator=${second.prevIterator}`)), ['ed', true])
    assert.deepEqual(pathsOf(await page('order=ascending&limit=3')), ['abc', false])
    await call(422, 'GET', '/endpoint?iterator=nonsense')
  })

  test('names the field of an invalid setting', async () => {
    const url = 'http://127.0.0.1:1/'
    const cases: [object, string][] = [
      [{}, '.'],
      [{ url: 'nonsense' }, 'url'],
      [{ url: 'ftp://127.0.0.1/' }, 'url'],
      [{ url: 'http://user:pw@127.0.0.1/' }, 'url'],
      [{ url, eventTypes: ['missing'] }, 'eventTypes'],
      [{ url, eventTypes: [] }, 'event_types'],
      [{ url, channels: [] }, 'channels'],
      [{ url, channels: 'a b c d e f g h i j k'.split(' ') }, 'channels'],
      [{ url, eventTypes: ['not allowed'] }, 'event_types.__all__'],
      [{ url, channels: ['not allowed'] }, 'channels.__all__'],
      [{ url, throttleRate: 0 }, 'throttle_rate'],
      [{ url, version: 0 }, 'version'],
      [{ url, uid: 'ep_own' }, 'uid.__all__'],
      [{ url, description: 'a\u0001' }, 'description'],
      [{ url, metadata: { a: 'x'.repeat(4096) } }, 'metadata'],
      [{ url, secret: 'short' }, 'secret'],
      [{ url, secret: `whsec_${Buffer.alloc(23).toString('base64')}` }, 'key.__all__'],
      [{ url, secret: `whsec_${Buffer.alloc(76).toString('base64')}` }, 'key.__all__'],
      [{ url, headers: { 'svix-id': 'x' } }, 'headers'],
    ]
    for (const [json, field] of cases) {
      const { detail } = await call<Faults>(422, 'POST', '/endpoint', json)
      assert.equal(detail[0]!.loc.slice(1).join('.'), field, JSON.stringify({ json, detail }))
    }
    const { id } = await create({ url })
    for (const json of [{ eventTypes: [] }, { channels: [] }, { throttleRate: 0 }, { url: null }])
      await call(422, 'PATCH', `/endpoint/${id}`, json)
  })

  test('old secrets sign as well until their end, also those of another kind', async () => {
    await using receiver = await startReceiver()
    const { id } = await create({ url: receiver.url })
    const read = async (): Promise<string> =>
      (await call<{ key: string }>(200, 'GET', `/endpoint/${id}/secret`)).key
    const rotate = (json: object): Promise<{ key: string }> =>
      call(200, 'POST', `/endpoint/${id}/secret/rotate`, json)
    const pair = '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='
    const long = `whsec_${Buffer.alloc(75, 7).toString('base64')}`
    const first = await read()
    assert.equal(
      (await rotate({ key: `whsk_${pair}` })).key,
      'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
    )
    assert.deepEqual(await rotate({ key: long }), { key: long })
    assert.equal(await read(), long)
    await call(202, 'POST', '/msg', { eventType: 'user.created', payload: { n: 1 } })
    const [sent] = await receiver.waitFor(1)
    const headers = sent!.headers as Record<string, string>
    assert.equal(sent!.body.toString(), '{"n":1}')
    for (const secret of [first, long]) new Webhook(secret).verify(sent!.body.toString(), headers)
    assert.match(headers['svix-signature']!, /^v1,\S+ v1a,\S+ v1,\S+$|^v1a?,\S+ v1a?,\S+ v1a?,\S+$/)
    await rotate({ gracePeriodSeconds: 0 })
    await call(202, 'POST', '/msg', { eventType: 'user.created', payload: { n: 2 } })
    const [, next] = await receiver.waitFor(2)
    const later = next!.headers as Record<string, string>
    new Webhook(first).verify(next!.body.toString(), later)
    assert.throws(() => new Webhook(long).verify(next!.body.toString(), later))
    for (let left = 8; left > 0; left -= 1) await rotate({})
    assert.equal(
      (await call<{ code: string }>(400, 'POST', `/endpoint/${id}/secret/rotate`, {})).code,
      'limit_reached',
    )
    await call(422, 'POST', `/endpoint/${id}/secret/rotate`, { gracePeriodSeconds: 604_801 })
  })

  test('credentials in headers are named, not shown', async () => {
    const { id } = await create({ url: 'http://127.0.0.1:1/', headers: { 'X-Team': 'blue' } })
    const path = `/endpoint/${id}/headers`
    assert.deepEqual(await call(200, 'GET', path), { headers: { 'x-team': 'blue' }, sensitive: [] })
    await call(204, 'PUT', path, { headers: { 'x-a': '1', authorization: 'Basic abc' } })
    await call(204, 'PATCH', path, { headers: { 'x-b': '2', 'X-A': null } })
    assert.deepEqual(await call(200, 'GET', path), { headers: { 'x-b': '2' }, sensitive: ['authorization'] })
    for (const name of ['content-length', 'bad name', 'svix-id', 'x-amzn-a'])
      for (const method of ['PUT', 'PATCH']) {
        const { detail } = await call<Faults>(422, method, path, { headers: { [name]: '1' } })
        assert.equal(detail[0]!.loc[1], 'headers')
      }
  })

  test('sends failed messages again, and those that a replay selects', async () => {
    app = await newApp('recovery')
    await using receiver = await startReceiver(500)
    const { id } = await create({ url: receiver.url, channels: ['a', 'b'] })
    const send = (eventType: string, channel: string): Promise<unknown> =>
      call(202, 'POST', '/msg', { eventType, channels: [channel], payload: {} })
    await send('user.created', 'a')
    await send('user.deleted', 'b')
    await receiver.waitFor(2)
    receiver.answer(200)
    const since = new Date(Date.now() - 60_000).toISOString()
    const path = `/endpoint/${id}`
    const counted = (name: string, count: number): Promise<unknown> =>
      until(
        async () => (await call<Record<string, number>>(200, 'GET', `${path}/stats`))[name] === count,
        `${count} attempts are counted`,
      )
    await counted('fail', 2)
    const task = await call<Record<string, string>>(202, 'POST', `${path}/recover`, { since })
    assert.match(task['id']!, /^qtask_[0-9A-Za-z]{27}$/)
    assert.deepEqual([task['status'], task['task']], ['running', 'endpoint.recover'])
    await receiver.waitFor(4)
    await counted('success', 2)
    await call(202, 'POST', `${path}/bulk-replay`, { since, channel: 'a', status: 0, statusCodeClass: 200 })
    await receiver.waitFor(5)
    await counted('success', 3)
    await call(202, 'POST', `${path}/bulk-replay`, { since, eventTypes: ['user.deleted'], status: null })
    await receiver.waitFor(6)
    await counted('success', 4)
    await call(202, 'POST', `${path}/bulk-replay`, { since, statusCodeClass: 500 })
    const later = await create({ url: `${receiver.url}/later`, channels: ['b'] })
    const missing = await call<Record<string, string>>(202, 'POST', `/endpoint/${later.id}/replay-missing`, {
      since,
    })
    assert.equal(missing['task'], 'endpoint.replay')
    assert.equal((await receiver.waitFor(7)).at(-1)!.path, '/hook/later')
    const early = new Date(Date.now() - 21 * 86_400_000).toISOString()
    const { detail } = await call<Faults>(422, 'POST', `${path}/recover`, { since: early })
    assert.deepEqual(detail[0]!.loc, ['body', 'since'])
    await call(400, 'GET', `${path}/stats?since=2020-01-01T00:00:00Z`)
    await call(400, 'GET', `${path}/stats?until=2100-01-01T00:00:00Z`)
  })

  test('sends an example, as the transformation changes it', async () => {
    await using receiver = await startReceiver()
    const { id } = await create({ url: receiver.url })
    const path = `/endpoint/${id}`
    const code = 'function handler(webhook) { webhook.payload.more = true; return webhook }'
    await call(204, 'PATCH', `${path}/transformation`, { code, enabled: true })
    const { code: stored, enabled } = await call<Record<string, unknown>>(
      200,
      'GET',
      `${path}/transformation`,
    )
    assert.deepEqual([stored, enabled], [code, true])
    await call(422, 'PATCH', `${path}/transformation`, { enabled: false })
    await call(422, 'PATCH', `${path}/transformation`, { variables: { a: 'b' } })
    const message = await call<Record<string, unknown>>(200, 'POST', `${path}/send-example`, {
      eventType: 'user.created',
    })
    const [sent] = await receiver.waitFor(1)
    assert.equal(sent!.body.toString(), '{"name":"Jo","more":true}')
    assert.equal(sent!.headers['svix-id'], message['id'])
    await call(204, 'PATCH', `${path}/transformation`, { code: null })
    await call(200, 'POST', `${path}/send-example`, { eventType: 'svix.ping' })
    assert.equal((await receiver.waitFor(2))[1]!.body.toString(), '{"success":true}')
    await call(400, 'POST', `${path}/send-example`, { eventType: 'user.deleted' })
    await call(404, 'POST', `${path}/send-example`, { eventType: 'missing' })
  })
})
