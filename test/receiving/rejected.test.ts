// Refused webhooks: counted by reason, the last ones kept for people who look why, at a cost that nobody can drive up.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { IncomingMessage } from 'node:http'
import { systemClock } from '../../src/runtime/clock.ts'
import { hmac, microsoftGraph, stripe } from '../../src/index.ts'
import { Activity } from '../../src/receiving/activity.ts'
import { RejectedLog } from '../../src/receiving/rejections/log.ts'
import { reasons, type Reason } from '../../src/receiving/rejections/reasons.ts'
import type { Database } from '../../src/storage/database.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine, startedService } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook, sign } from './harness.ts'

type Rejected = AnswerTo<'GET /rejected-webhooks/{id}'>

const stripeSecret = 'whsec_stripe'
const feedSecret = 'feed-secret'

onEachEngine('rejected webhooks', (engine) => {
  const service = startedService(engine, () => ({
    env: { WEBHOOK_BODY_LIMIT: '20000' },
    parts: { clock: clockWith({ 1_000: 100 }) },
    receiving: {
      sources: {
        stripe: stripe({ secret: stripeSecret }),
        feed: hmac({ header: 'X-Feed', secret: feedSecret }),
        graph: microsoftGraph({ secret: 'client-state-1234' }),
        over: hmac({ header: 'x-signature', secret: [{ secret: 's', until: '2020-01-01T00:00:00Z' }] }),
      },
    },
  }))

  const post = (source: string, body: string, headers: Record<string, string>): Promise<Response> =>
    postWebhook(service, body, { 'x-signature': null, ...headers }, source)
  const list = async (query: string): Promise<Rejected[]> =>
    ((await (await service.admin(`/rejected-webhooks?${query}`)).json()) as { data: Rejected[] }).data
  const newest = (source: string, reason: string): Promise<Rejected> =>
    eventually(async () => (await list(`source=${source}&reason=${reason}`))[0], `${source}: ${reason}`)
  const counted = async (source: string, outcome: string): Promise<number> => {
    const text = await (await service.admin('/metrics')).text()
    const line = new RegExp(
      `^postern_webhooks_total\\{source="${source}",outcome="${outcome}"\\} (\\d+)$`,
      'm',
    )
    return Number(line.exec(text)?.[1] ?? 0)
  }
  const signStripe = (body: string, ageInSeconds: number): string => {
    const t = Math.floor(Date.now() / 1000) - ageInSeconds
    return `t=${t},v1=${createHmac('sha256', stripeSecret).update(`${t}.${body}`).digest('hex')}`
  }

  test('each reason is counted and explained; the sender gets only the specified text', async () => {
    const body = '{"id":"evt_1","type":"a"}'
    const cases: [source: string, reason: Reason, headers: Record<string, string>][] = [
      ['stripe', 'signature-missing', {}],
      ['stripe', 'signature-wrong', { 'stripe-signature': `t=1,v1=${'00'.repeat(32)}` }],
      ['stripe', 'timestamp-too-old', { 'stripe-signature': signStripe(body, 3_600) }],
      ['stripe', 'timestamp-in-future', { 'stripe-signature': signStripe(body, -3_600) }],
      ['over', 'no-valid-secret', { 'x-signature': sign(body, 's') }],
    ]
    for (const [source, , headers] of cases) {
      const answer = await post(source, body, headers)
      assert.equal(answer.status, 401)
      assert.equal(await answer.text(), 'invalid signature')
    }
    for (const [source, reason] of cases) {
      const kept = await newest(source, reason)
      assert.equal(kept.meaning, reasons[reason].meaning)
      assert.equal(kept.advice, reasons[reason].advice)
      assert.equal(kept.address, '127.0.0.1')
      assert.equal(kept.body, body)
      assert.equal(kept.size, body.length)
      assert.equal(await counted(source, reason), 1)
    }
    assert.match((await newest('stripe', 'timestamp-too-old')).detail, /36\d\d s behind this server's clock/)
  })

  test('malformed webhooks of a verified sender are recorded, too', async () => {
    assert.equal((await postWebhook(service, '{"id":1}')).status, 400)
    assert.equal((await newest('provider', 'malformed')).body, '{"id":1}')
    assert.equal((await postWebhook(service, '<a/>', { 'content-type': 'application/xml' })).status, 415)
    assert.equal((await newest('provider', 'media-type')).detail, 'application/xml')
    assert.equal((await postWebhook(service, 'x'.repeat(20_001))).status, 413)
    const large = await newest('provider', 'too-large')
    assert.equal(large.size, 20_001)
    assert.equal(large.body, undefined, 'it was not read')
    for (const reason of ['malformed', 'media-type', 'too-large'])
      assert.equal(await counted('provider', reason), 1)
    await postWebhook(service, { id: 'good', type: 'a' })
    assert.equal(await counted('provider', 'accepted'), 1)
  })

  test('no secret, signature or credential is stored', async () => {
    const secrets = {
      'x-feed': 'f'.repeat(63),
      authorization: 'Bearer credential-1234',
      cookie: 'session=credential-1234',
      'x-api-key': 'credential-1234',
      'x-hub-signature-256': 'sha256=credential-1234',
    }
    const body = JSON.stringify({
      id: 'e',
      token: 'credential-1234',
      nested: { verification_token: 'credential-"1234', clientSecret: 'credential-1234', plain: 'shown' },
      signature: { timestamp: '1', token: 'credential-1234', signature: 'credential-1234' },
    })
    await post('feed', body, { ...secrets, 'x-plain': 'shown' })
    const kept = await newest('feed', 'signature-wrong')
    assert.doesNotMatch(JSON.stringify(kept), /credential-|ffff/)
    assert.equal(kept.headers['x-feed'], '[removed: 63 characters]')
    assert.equal(kept.headers['x-plain'], 'shown')
    assert.match(kept.body!, /"plain":"shown"/)

    const notification = '{"value":[{"clientState":"client-state-1234"},{"clientState":"another"}]}'
    assert.equal((await post('graph', notification, {})).status, 401)
    assert.equal(
      (await newest('graph', 'signature-wrong')).body,
      notification.replaceAll(/"(client-s|ano)[^"]*"/g, '"[removed]"'),
    )
    await post('feed', 'a=1&token=credential-1234&b=2', {})
    assert.equal((await newest('feed', 'signature-missing')).body, 'a=1&token=[removed]&b=2')
  })

  test('a body is stored up to 4 KiB, also if that cuts a credential; binary bytes are base64', async () => {
    const long = `{"x":"${'y'.repeat(4_050)}","password":"${'credential'.repeat(100)}"}`
    await postWebhook(service, long, { 'x-signature': '00' })
    const kept = await eventually(async () => (await list('source=provider&reason=signature-wrong'))[0])
    assert.equal(kept.size, long.length)
    assert.ok(Buffer.byteLength(kept.body!) <= 4_096)
    assert.doesNotMatch(kept.body!, /credential/)
    await post('feed', 'x', { 'x-feed': 'zz', 'content-type': 'application/json' })
    await service.fetch('/webhooks/stripe', { method: 'POST', body: Buffer.from([0xff, 0x00, 0xfe]) })
    const bytes = await eventually(async () =>
      (await list('source=stripe&reason=signature-missing')).find(({ bodyBase64 }) => bodyBase64),
    )
    assert.equal(bytes.bodyBase64, '/wD+')
  })

  test('a flood is counted completely, but stores few rows and keeps those of other reasons', async () => {
    await post('stripe', '{}', { 'stripe-signature': signStripe('{}', 3_600) })
    const before = await counted('stripe', 'signature-missing')
    for (let round = 0; round < 10; round += 1)
      await Promise.all(Array.from({ length: 50 }, () => post('stripe', 'x'.repeat(10_000), {})))
    assert.equal(await counted('stripe', 'signature-missing'), before + 500)
    await eventually(async () => (await list('source=stripe&reason=signature-missing&limit=100')).length >= 5)
    for (let wave = 0; wave < 3; wave += 1) {
      const [{ id: last } = { id: 0 }] = (await list('source=stripe')) as unknown as { id: number }[]
      for (let one = 0; one < 8; one += 1) await post('stripe', `${wave}`, {})
      await eventually(async () => ((await list('source=stripe'))[0] as unknown as { id: number }).id > last)
    }
    const kept = await list('source=stripe&reason=signature-missing&limit=100')
    assert.ok(kept.length <= 10, `${kept.length} rows`)
    assert.ok((await list('source=stripe&reason=timestamp-too-old')).length > 0)
    assert.equal(kept[0]!.body, '2', 'the newest first')
  })

  test('counts are stored with the meaning of each reason; one rejection can be read by id', async () => {
    type Counts = AnswerTo<'GET /rejected-webhooks/counts'>
    const read = async (): Promise<Counts> =>
      (await (await service.admin('/rejected-webhooks/counts')).json()) as Counts
    const wanted = await counted('stripe', 'signature-missing')
    const found = await eventually(async () =>
      (await read()).data.find(
        ({ source, reason, count }) =>
          source === 'stripe' && reason === 'signature-missing' && count === wanted,
      ),
    )
    assert.equal(found.meaning, reasons['signature-missing'].meaning)
    assert.equal(found.advice, reasons['signature-missing'].advice)
    assert.ok(Date.now() - Date.parse(found.lastAt) < 600_000)
    const { since, total, data } = await read()
    assert.equal(
      total,
      data.reduce((sum, { count }) => sum + count, 0),
    )
    assert.equal(data[0]?.reason, 'signature-missing', 'the most frequent first')
    assert.equal(Date.parse(since!) % 86_400_000, 0)
    assert.equal((await service.fetch('/rejected-webhooks/counts')).status, 401)

    const [newest] = (await list('source=stripe')) as unknown as { id: number }[]
    const one = await service.admin(`/rejected-webhooks/${newest?.id}`)
    assert.deepEqual(await one.json(), newest)
    for (const id of ['0', '999999', 'x'])
      assert.equal((await service.admin(`/rejected-webhooks/${id}`)).status, 404)
  })

  test('counts that cannot be written are written later; counts of past days are dropped', async () => {
    const { database } = service
    let now = Date.UTC(2030, 0, 1, 12)
    let away = true
    const clock = { ...systemClock, now: () => now }
    const failing = {
      engine: database.engine,
      reader: database.reader,
      inBackground: (...given: Parameters<typeof database.inBackground>) =>
        away ? Promise.reject(new Error('away')) : database.inBackground(...given),
    } as unknown as Database
    const open = () => {
      const activity = new Activity({
        database: failing,
        clock,
        log: createLog('fatal'),
        rejectedRetention: 2 * 86_400_000,
      })
      return { activity, note: new RejectedLog(activity, clock).of('later') }
    }
    const call = { request: { headers: {} } as IncomingMessage, address: '127.0.0.1' }
    const rows = () =>
      database.reader
        .selectFrom('receiving_activity')
        .select(['slot as day', 'count', 'last_at'])
        .where('kind', '=', 'rejected')
        .where('name', '=', 'later')
        .orderBy('slot')
        .execute()
    const days = async (): Promise<[number, number][]> =>
      (await rows()).map(({ day, count }) => [new Date(day).getUTCDate(), count])
    const { activity: first, note } = open()
    note('malformed', '', call)
    note('malformed', '', call)
    await first.close()
    assert.deepEqual(await days(), [])
    const refusedAt = now
    // The database comes back on the next day.
    now += 86_400_000
    await first.close()
    away = false
    await first.close()
    assert.deepEqual(await days(), [[1, 2]])
    assert.equal((await rows())[0]?.last_at, refusedAt)
    for (const day of [2, 3, 4]) {
      now = Date.UTC(2030, 0, day, 12)
      const next = open()
      next.note('malformed', '', call)
      await next.activity.close()
    }
    assert.deepEqual(await days(), [
      [2, 1],
      [3, 1],
      [4, 1],
    ])
  })

  test('unstorable texts are no source and no reason', async () => {
    for (const query of ['source=%00', 'reason=a%00b', 'source=feed&reason=%00'])
      assert.deepEqual(await list(query), [], query)
  })

  test('pages descend; only admins can read them', async () => {
    const first = await service.admin('/rejected-webhooks?limit=2')
    const page = (await first.json()) as { data: { id: number }[]; pageInfo: { nextCursor: string } }
    assert.equal(page.data.length, 2)
    const second = await service.admin(`/rejected-webhooks?limit=2&cursor=${page.pageInfo.nextCursor}`)
    const next = (await second.json()) as { data: { id: number }[] }
    assert.ok(next.data[0]!.id < page.data[1]!.id)
    assert.equal((await service.fetch('/rejected-webhooks')).status, 401)
    assert.equal((await service.admin('/rejected-webhooks?cursor=x')).status, 400)
  })
})
