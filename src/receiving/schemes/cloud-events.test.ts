// CloudEvents in the three modes, with the examples of the specification, and what is forged or broken.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloudEvents, eventGrid } from './cloud-events.ts'
import { auth0 } from './presets.ts'
import type { Scheme } from './scheme.ts'

const secret = 'a-secret-of-a-broker'
const by = { authorization: `Bearer ${secret}` }
type Headers = Record<string, string>

interface Read {
  id: string
  type: string
  payload?: unknown
  mediaType?: string | undefined
}
function read(scheme: Scheme, body: string | Buffer, headers: Headers = by, url?: string): Read[] | string {
  const rawBody = Buffer.from(body)
  const verdict = scheme.verify({ rawBody, headers, now: 0, ...(url !== undefined && { url }) })
  if ('answer' in verdict) return verdict.answer.body
  if ('fetchFirst' in verdict) return 'fetchFirst'
  if ('rejected' in verdict) return verdict.fault ?? verdict.detail
  return [verdict, ...(verdict.others ?? [])].map(({ id, type, content }) => ({
    id,
    type,
    payload: content && JSON.parse(content.bytes.toString()),
    mediaType: content?.type,
  }))
}
const idsOf = (found: Read[] | string) => (typeof found === 'string' ? found : found.map(({ id }) => id))

const textOf = (found: Read[] | string) => (typeof found === 'string' ? found : JSON.stringify(found))

const scheme = cloudEvents({ secret })
const structured = { ...by, 'content-type': 'application/cloudevents+json; charset=UTF-8' }
/** https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md */
const example = {
  specversion: '1.0',
  type: 'com.example.someevent',
  source: '/mycontext',
  subject: null,
  id: 'C234-1234-1234',
  time: '2018-04-05T17:31:00Z',
  comexampleextension1: 'value',
  comexampleothervalue: 5,
  datacontenttype: 'application/json',
  data: { appinfoA: 'abc', appinfoB: 123, appinfoC: true },
}
const expected = {
  id: '/mycontext C234-1234-1234',
  type: 'com.example.someevent',
  payload: example,
  mediaType: 'application/cloudevents+json',
}

test('cloudEvents: an event alone, in a batch and in headers has the same id and payload', () => {
  const text = JSON.stringify(example)
  assert.deepEqual(read(scheme, text, structured), [expected])
  const batch = { ...by, 'content-type': 'application/cloudevents-batch+json' }
  const other = { ...example, id: '2', source: '/other' }
  assert.deepEqual(read(scheme, JSON.stringify([example, other]), batch), [
    expected,
    { ...expected, id: '/other 2', payload: other },
  ])
  assert.equal(read(scheme, '[]', batch), '')
  // In the structured mode the same headers may come along.
  assert.deepEqual(read(scheme, text, { ...structured, 'ce-specversion': '1.0', 'ce-id': 'x' }), [expected])
  const { data, datacontenttype: mediaType, subject: _, comexampleothervalue: __, ...attributes } = example
  const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]))
  const binary = { ...by, ...headers, 'content-type': mediaType }
  const inHeaders = { ...attributes, datacontenttype: mediaType, data }
  assert.deepEqual(read(scheme, JSON.stringify(data), binary), [{ ...expected, payload: inHeaders }])
})

test('cloudEvents: in the binary mode data is JSON, text or bytes, and attributes are decoded', () => {
  const headers = { ...by, 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/s', 'ce-type': 't' }
  const dataOf = (body: string | Buffer, more: Headers) => {
    const found = read(scheme, body, { ...headers, ...more })
    if (typeof found === 'string') return found
    const { data, data_base64: base64, subject } = found[0]!.payload as Record<string, unknown>
    return subject ?? data ?? base64
  }
  assert.deepEqual(dataOf('\ufeff{"a":1}', { 'content-type': 'application/vnd.a+json; v=1' }), { a: 1 })
  assert.deepEqual(dataOf('[1]', {}), [1])
  assert.equal(dataOf('{"a"', { 'content-type': 'application/json' }), 'The body is not valid JSON.')
  assert.equal(dataOf('<a b="c"/>', { 'content-type': 'text/xml' }), '<a b="c"/>')
  assert.equal(dataOf(Buffer.from('ff00', 'hex'), { 'content-type': 'image/png' }), '/wA=')
  assert.equal(dataOf('', {}), undefined)
  // The example of the binding.
  const euro = 'Euro%20%E2%82%AC%20%F0%9F%98%80'
  assert.equal(dataOf('', { 'ce-subject': euro }), 'Euro € 😀')
  assert.equal(dataOf('', { 'ce-subject': `"Euro \\"%E2%82%AC\\""` }), 'Euro "€"')
  for (const value of ['%C0%A0', '%', '%zz'])
    assert.match(String(dataOf('', { 'ce-subject': value })), /invalid percent-encoding/)
  for (const name of ['ce-data', 'ce-datacontenttype', 'ce-data_base64', 'ce-__proto__'])
    assert.deepEqual(dataOf('{"a":1}', { [name]: 'x', 'content-type': 'application/json' }), { a: 1 }, name)
  assert.deepEqual(dataOf('{"a":1}', { 'ce-rejected': 'signature', 'ce-answer': 'x', 'ce-id': 'i' }), {
    a: 1,
  })
  // Digits are preserved.
  const found = scheme.verify({ rawBody: Buffer.from('{"n":12345678901234567890}'), headers, now: 0 })
  assert.ok('content' in found)
  assert.match(found.content.bytes.toString(), /"data":\{"n":12345678901234567890\}\}$/)
})

test('cloudEvents: the secret is a bearer token or access_token, and nothing else', () => {
  const text = JSON.stringify(example)
  const outcome = (headers: Headers, query = '') =>
    idsOf(read(scheme, text, headers, `https://a.example/w${query}`))
  const right = [expected.id]
  assert.deepEqual(outcome(by), right)
  assert.deepEqual(outcome({}, `?a=1&access_token=${secret}`), right)
  assert.deepEqual(outcome({}, `?access_token=${secret}&access_token=x`), right, 'the first counts')
  const [wrong, missing] = ['signature-wrong', 'signature-missing']
  assert.equal(outcome({}), missing)
  assert.equal(outcome({ authorization: secret }), missing)
  assert.equal(outcome({ authorization: `Basic ${secret}` }), missing)
  assert.equal(outcome({ 'x-access-token': secret }), missing)
  assert.equal(outcome({ access_token: secret }), missing)
  for (const value of [`${secret}x`, secret.slice(1), secret.toUpperCase(), `${secret},x`]) {
    assert.equal(outcome({ authorization: `Bearer ${value}` }), wrong)
    assert.equal(outcome({}, `?access_token=${value}`), wrong)
  }
  assert.equal(outcome({ authorization: 'Bearer x' }, `?access_token=${secret}`), wrong, 'the header counts')
  assert.equal(outcome({}, '?access_token='), wrong)
  assert.equal(outcome({}, `?ACCESS_TOKEN=${secret}`), missing)
})

test('cloudEvents: broken events are rejected with their batch', () => {
  for (const broken of [
    { ...example, source: '' },
    { ...example, source: undefined },
    { ...example, source: 5 },
    { ...example, id: undefined },
    { ...example, id: '' },
    { ...example, type: '' },
    { ...example, source: '/a\0' },
    { ...example, source: '/\ud800' },
    'text',
    null,
    [[example]],
  ])
    for (const body of [broken, [example, broken]])
      assert.equal(typeof read(scheme, JSON.stringify(body), structured), 'string', JSON.stringify(broken))
  const many = JSON.stringify(Array.from({ length: 5_001 }, () => 0))
  assert.match(textOf(read(scheme, many, structured)), /more than 5000 events/)
})

test('cloudEvents: source and id cannot be moved into each other', () => {
  const idOf = (source: string, id: string) =>
    idsOf(read(scheme, JSON.stringify({ ...example, source, id }), structured))
  assert.notDeepEqual(idOf('/a', 'b c'), idOf('/a b', 'c'))
  assert.deepEqual(idOf('/a', 'b c'), ['/a b c'])
  assert.match(String(idOf('/a', 'x'.repeat(256))), /^sha256:/)
  assert.notDeepEqual(idOf('/a', 'x'.repeat(256)), idOf('/b', 'x'.repeat(256)))
})

test('eventGrid: the validation event is answered only with the secret, and only for it', () => {
  const grid = eventGrid({ secret })
  // https://learn.microsoft.com/azure/event-grid/end-point-validation-event-grid-events-schema
  const check = {
    id: '2d1781af-3a4c-4d7c-bd0c-e34b19da4e66',
    topic: '/subscriptions/00000000-0000-0000-0000-000000000000',
    subject: '',
    data: {
      validationCode: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6',
      validationUrl: 'https://rp-eastus2.eventgrid.azure.net:553/eventsubscriptions/x/validate?id=512d38b6',
    },
    eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
    eventTime: '2018-01-25T22:12:19.4556811Z',
    metadataVersion: '1',
    dataVersion: '1',
  }
  const body = JSON.stringify([check])
  assert.equal(read(grid, body), '{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}')
  assert.equal(read(grid, body, {}), 'signature-missing')
  assert.equal(
    read(grid, body, { authorization: 'Bearer x', 'aeg-event-type': 'SubscriptionValidation' }),
    'signature-wrong',
  )
  assert.deepEqual(idsOf(read(scheme, body)), [`${check.topic} ${check.id}`], 'an event for CloudEvents')
  const renamed = JSON.stringify([{ ...check, eventType: 'a' }])
  assert.deepEqual(idsOf(read(grid, renamed, { ...by, 'aeg-event-type': 'SubscriptionValidation' })), [
    `${check.topic} ${check.id}`,
  ])
})

test('auth0: a broken line rejects the request', () => {
  const logs = auth0({ secret })
  const log = '{"log_id":"1","data":{"type":"s"}}'
  const outcome = (body: string) => idsOf(read(logs, body, { authorization: secret }))
  assert.deepEqual(outcome(`${log}\r\n\n${log.replace('1', '2')}`), ['1', '2'])
  assert.equal(outcome(`${log}\n{"log_id":"2"`), 'The body is not valid JSON.')
  assert.match(String(outcome(`${log}\n{"log_id":"2"}`)), /`type`/)
  assert.equal(outcome(''), '')
  assert.equal(read(logs, log, { authorization: `Bearer ${secret}` }), 'signature-wrong')
  assert.equal(read(logs, log, {}), 'signature-missing')
})

test('the processor time of large batches grows with their size', () => {
  const used = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  const timeOf = (one: Scheme, body: string, headers: Headers) => {
    let best = Infinity
    for (let round = 0; round < 3; round += 1) {
      const began = used()
      one.verify({ rawBody: Buffer.from(body), headers, now: 0 })
      best = Math.min(best, used() - began)
    }
    return best
  }
  const event = { specversion: '1.0', type: 't', source: '/s', id: '1', n: 1 }
  const batch = (count: number) =>
    `[${Array.from({ length: count }, () => JSON.stringify(event).replace('"n":1', '"n":1.0')).join(',')}]`
  const cases: [
    name: string,
    scheme: Scheme,
    make: (count: number) => string,
    headers: (count: number) => Headers,
  ][] = [
    ['events', scheme, batch, () => structured],
    [
      'empty lines',
      auth0({ secret }),
      (count) => `${'\n'.repeat(count * 50)}x`,
      () => ({ authorization: secret }),
    ],
    [
      'lines',
      auth0({ secret }),
      (count) => '{"log_id":"1","data":{"type":"s"}}\n'.repeat(count),
      () => ({ authorization: secret }),
    ],
    [
      'quotes in a header',
      scheme,
      () => '',
      (count) => ({ ...by, 'ce-specversion': '1.0', 'ce-id': `"${'\\"'.repeat(count)}` }),
    ],
  ]
  for (const [name, one, make, headersOf] of cases) {
    const [small, large] = [500, 4_000].map((count) => timeOf(one, make(count), headersOf(count)))
    assert.ok(large! < 16 * small! + 50, `${name}: ${small} ms, ${large} ms`)
  }
})
