// One request with several events: all are stored before the answer or none is, and each is processed once by its own id.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { adyen, type Scheme } from '../../src/index.ts'
import { onEachEngine, onPostgres, openLink, postgres } from '../harness/index.ts'
import { startedService, startTestService } from '../harness/service.ts'
import { eventually } from './harness.ts'
import { MemorySpool } from './memory-spool.ts'

const key = 'ab'.repeat(32)
const other = 'cd'.repeat(32)
const hmac = (text: string, by: string): string =>
  createHmac('sha256', Buffer.from(by, 'hex')).update(text).digest('base64')

interface Item {
  reference: string
  code?: string
  success?: string
  merchantReference?: string
  account?: string
  value?: unknown
  by?: string
  more?: object
}
function itemOf({
  reference,
  code = 'AUTHORISATION',
  success = 'true',
  merchantReference = 'order 1',
  account = 'Shop',
  value = 1000,
  by = key,
  more = {},
}: Item) {
  const text = [reference, '', account, merchantReference, value, 'EUR', code, success].join(':')
  return {
    NotificationRequestItem: {
      pspReference: reference,
      merchantAccountCode: account,
      merchantReference,
      success,
      amount: { value, currency: 'EUR' },
      eventCode: code,
      additionalData: { hmacSignature: hmac(text, by) },
      ...more,
    },
  }
}
const bodyOf = (...items: object[]): string => JSON.stringify({ live: 'false', notificationItems: items })

function outcome(scheme: Scheme, body: string, headers: Record<string, string> = {}): string {
  const verdict = scheme.verify({ rawBody: Buffer.from(body), headers, now: 0 })
  if ('id' in verdict) return [verdict, ...(verdict.others ?? [])].map(({ id }) => id).join(' ')
  return 'rejected' in verdict ? (verdict.fault ?? verdict.rejected) : 'answered'
}

test('adyen: forged, moved and confused items are rejected with the whole request', () => {
  const scheme = adyen({ secret: key })
  const [one, two] = [itemOf({ reference: 'p1' }), itemOf({ reference: 'p2', code: 'CAPTURE' })]
  const signature = one.NotificationRequestItem.additionalData
  assert.equal(outcome(scheme, bodyOf(one, two)), 'p1:AUTHORISATION:true p2:CAPTURE:true')
  const changed = (more: object) => ({ NotificationRequestItem: { ...one.NotificationRequestItem, ...more } })
  for (const [what, ...items] of [
    ['another key', itemOf({ reference: 'p1', by: other })],
    ['one of two', one, itemOf({ reference: 'p3', by: other })],
    ['keys that alternate', itemOf({ reference: 'p1' }), itemOf({ reference: 'p2', by: other })],
    [
      'the signature of another',
      one,
      { NotificationRequestItem: { ...two.NotificationRequestItem, additionalData: signature } },
    ],
    ['another amount', changed({ amount: { value: 1, currency: 'EUR' } })],
    ['another currency', changed({ amount: { value: 1000, currency: 'USD' } })],
    ['another outcome', changed({ success: 'false' })],
    ['another code', changed({ eventCode: 'CAPTURE' })],
    [
      'a shifted colon',
      changed({ pspReference: 'p1:', merchantAccountCode: 'Shop', originalReference: undefined }),
    ],
    [
      'a reference that is split',
      changed({
        pspReference: 'p1::Shop:order 1',
        merchantAccountCode: '1000',
        merchantReference: 'EUR',
        amount: {},
      }),
    ],
    ['an array', changed({ pspReference: ['p1'] })],
    ['an object', changed({ amount: { value: { toString: 1 }, currency: 'EUR' } })],
  ] as [string, ...object[]][])
    assert.equal(outcome(scheme, bodyOf(...items)), 'signature-wrong', what)
  // A merchant's reference with colons must not be read as other fields.
  const colons = itemOf({ reference: 'p1', merchantReference: 'a:b:c' })
  assert.equal(outcome(scheme, bodyOf(colons)), 'p1:AUTHORISATION:true')
  const split = { ...colons.NotificationRequestItem, merchantAccountCode: 'Shop:a', merchantReference: 'b:c' }
  assert.equal(outcome(scheme, bodyOf({ NotificationRequestItem: split })), 'signature-wrong')
  for (const [what, body] of [
    ['no items', bodyOf()],
    ['an item without a signature', bodyOf(one, changed({ additionalData: {} }))],
    ['a signature that is no text', bodyOf(changed({ additionalData: { hmacSignature: [1] } }))],
    ['an empty item', bodyOf(one, {})],
    ['items in an object', '{"notificationItems":{"0":{}}}'],
    ['no JSON', 'hmacSignature=1'],
  ] as const)
    assert.equal(outcome(scheme, body), 'signature-missing', what)
  const both = adyen({ secret: [other, key] })
  assert.equal(outcome(both, bodyOf(one)), 'p1:AUTHORISATION:true')
  assert.equal(outcome(both, bodyOf(one, itemOf({ reference: 'p2', by: other }))), 'signature-wrong')
  assert.throws(() => adyen({ secret: 'no hex' }), /HMAC key in hex/)
})

test('adyen: webhooks of platforms are signed as a whole', () => {
  const scheme = adyen({ secret: key })
  const body = '{"type":"balancePlatform.transfer.updated","data":{"id":"t1"}}'
  assert.match(outcome(scheme, body, { hmacsignature: hmac(body, key) }), /^sha256:/)
  for (const [sent, signature] of [
    [`${body} `, hmac(body, key)],
    [body, hmac(body, other)],
    [body, 'x'],
    // Items that are signed do not stand for the header.
    [bodyOf(itemOf({ reference: 'p1' })), hmac(body, key)],
  ] as const)
    assert.equal(outcome(scheme, sent, { hmacsignature: signature }), 'signature-wrong')
  assert.equal(outcome(scheme, body), 'signature-missing')
})

onEachEngine('several events of one request', (engine) => {
  const seen: string[] = []
  const service = startedService(engine, () => ({
    receiving: {
      sources: {
        adyen: adyen({ secret: key }),
        filtered: adyen({ secret: key, drop: ['CAPTURE'] }),
        routed: adyen({
          secret: key,
          route: { body: 'notificationItems.0.NotificationRequestItem.merchantReference' },
        }),
      },
      handlers: {
        '*': ({ id, source, type, payload }) => {
          const { notificationItems: items } = payload as {
            notificationItems: { NotificationRequestItem: { pspReference: string } }[]
          }
          seen.push(
            `${source} ${type} ${id} ${items.map(({ NotificationRequestItem: item }) => item.pspReference).join()}`,
          )
        },
      },
    },
  }))
  async function send(source: string, ...items: object[]): Promise<string> {
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body: bodyOf(...items),
      headers: { 'content-type': 'application/json' },
    })
    return `${response.status} ${await response.text()}`
  }
  const stored = async (source: string): Promise<string[]> =>
    (
      await service.database.reader
        .selectFrom('events')
        .select(['event_id', 'type'])
        .where('source', '=', source)
        .orderBy('id')
        .execute()
    ).map(({ event_id: id, type }) => `${id} ${type}`)

  test('each is an event with a body of its own, processed once; repetitions are duplicates one by one', async () => {
    const items = ['e1', 'e2', 'e3'].map((reference) =>
      itemOf({ reference, more: { big: '9007199254740993' } }),
    )
    assert.equal(await send('adyen', ...items), '200 [accepted]')
    assert.deepEqual(
      await stored('adyen'),
      ['e1', 'e2', 'e3'].map((id) => `${id}:AUTHORISATION:true AUTHORISATION`),
    )
    assert.equal(await send('adyen', ...items.toReversed()), '200 [accepted]')
    assert.equal(
      await send('adyen', items[1]!, itemOf({ reference: 'e4' }), itemOf({ reference: 'e4' })),
      '200 [accepted]',
    )
    await eventually(() => seen.length >= 4)
    assert.equal((await stored('adyen')).length, 4)
    assert.deepEqual(
      seen.toSorted(),
      ['e1', 'e2', 'e3', 'e4'].map((id) => `adyen AUTHORISATION ${id}:AUTHORISATION:true ${id}`),
    )
    // Duplicates may be counted after their acknowledgement.
    const metrics = await eventually(async () => {
      const text = await (await service.admin('/metrics')).text()
      return /postern_webhook_duplicates_total 5/.test(text) ? text : undefined
    }, 'the duplicates are counted')
    assert.match(metrics, /postern_webhooks_total\{source="adyen",outcome="accepted"\} 9/)
  })

  test('one forged item stores none', async () => {
    const before = await stored('adyen')
    assert.equal(
      await send('adyen', itemOf({ reference: 'f1' }), itemOf({ reference: 'f2', by: other })),
      '401 invalid signature',
    )
    assert.deepEqual(await stored('adyen'), before)
  })

  test('drop and route are applied to each', async () => {
    const mixed = [
      itemOf({ reference: 'd1', code: 'CAPTURE' }),
      itemOf({ reference: 'd2' }),
      itemOf({ reference: 'd3', code: 'CAPTURE' }),
    ]
    assert.equal(await send('filtered', ...mixed), '200 [accepted]')
    assert.deepEqual(await stored('filtered'), ['d2:AUTHORISATION:true AUTHORISATION'])
    assert.equal(await send('filtered', mixed[0]!), '200 [accepted]')
    assert.deepEqual(await stored('filtered'), ['d2:AUTHORISATION:true AUTHORISATION'])
    await send(
      'routed',
      itemOf({ reference: 'r1', merchantReference: 'shop.a' }),
      itemOf({ reference: 'r2', merchantReference: 'shop.b' }),
    )
    assert.deepEqual(await stored('routed'), ['r1:AUTHORISATION:true shop.a', 'r2:AUTHORISATION:true shop.b'])
  })
})

describe('several events of one request in a spool', onPostgres, () => {
  test('while the database is down, all events are acknowledged; later, each is stored once', async () => {
    const home = await postgres!.createMigratedDatabase()
    const link = await openLink(home.url)
    const spool = new MemorySpool()
    const service = await startTestService(postgres!, {
      databaseUrl: link.url,
      receiving: { sources: { adyen: adyen({ secret: key }) }, spool },
    })
    try {
      const send = async (...references: string[]): Promise<string> => {
        const response = await service.fetch('/webhooks/adyen', {
          method: 'POST',
          body: bodyOf(...references.map((reference) => itemOf({ reference }))),
          headers: { 'content-type': 'application/json' },
        })
        return `${response.status} ${await response.text()}`
      }
      assert.equal(await send('s1'), '200 [accepted]')
      link.cut()
      assert.equal(await send('s1', 's2', 's3'), '200 [accepted]')
      assert.equal(await send('s3', 's4'), '200 [accepted]')
      assert.equal(spool.entries.size, 5)
      link.mend()
      await eventually(() => spool.entries.size === 0)
      const rows = await service.database.reader
        .selectFrom('events')
        .select('event_id')
        .orderBy('id')
        .execute()
      assert.deepEqual(
        rows.map(({ event_id: id }) => id),
        ['s1', 's2', 's3', 's4'].map((id) => `${id}:AUTHORISATION:true`),
      )
    } finally {
      await service.close()
      link.close()
      await home.drop()
    }
  })
})
