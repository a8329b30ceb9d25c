// Sources show how to set up their senders and what arrived, and take samples that are signed here.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { discord, github, hmac, stripe } from '../../src/index.ts'
import { otherProofs, secretPresets } from '../harness/presets.ts'
import { setUps } from '../../src/receiving/schemes/set-up.ts'
import { fields, onEachEngine, startedService } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

type Source = AnswerTo<'GET /sources/{name}'>
interface Detail extends Source {
  refusals: { reason: string; meaning: string; advice: string; count: number; lastAt: string }[]
  slots: { at: string; accepted: number; duplicates: number; refused: number }[]
}

test('each preset has steps, a link to documentation and the type of a typical event', () => {
  const secret = 'whsec_' + Buffer.from('a secret of a source').toString('base64')
  for (const name of Object.keys({ ...secretPresets, ...otherProofs })) {
    const preset = secretPresets[name]
    const publicKey = ['adyen', 'discord'].includes(name) ? 'ab'.repeat(32) : secret
    let scheme = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    if (name !== 'sendgrid' && preset)
      scheme = (preset as typeof stripe)({
        secret: publicKey,
        header: 'x-signature',
        verifyToken: 't',
      } as never).name
    const setUp = setUps[scheme]
    assert.ok(setUp, name)
    assert.ok(
      setUp.steps.length > 0 && setUp.steps.every((step) => step.endsWith('.') || step.endsWith(')')),
      name,
    )
    assert.match(setUp.docs, /^https:\/\//)
    assert.notEqual(setUp.exampleType, '')
  }
})

onEachEngine('sources', (engine) => {
  const service = startedService(engine, () => ({
    parts: { clock: clockWith({ 1_000: 100 }) },
    receiving: {
      sources: {
        shop: stripe({ secret: 'whsec_of_the_shop_0123456789' }),
        code: github({ secret: 'secret-of-the-code-0123456789' }),
        chat: discord({ secret: 'ab'.repeat(32) }),
        other: hmac({ header: 'x-other', secret: 'secret-of-another-0123456789' }),
        timed: hmac({
          header: 'X-Sum',
          secret: 'secret-of-a-timed-0123456789',
          algorithm: 'sha512',
          encoding: 'base64',
          prefix: 'v=',
          timestampHeader: 'X-Time',
          signed: '{timestamp}.{body}',
        }),
      },
      handlers: { 'invoice.paid': (event, { tx }) => writeEffect(tx, event.id) },
    },
  }))
  before(async () => {
    await createEffects(service.database)
  })

  test('the steps of a source name its own secret and header', async () => {
    const stepsOf = async (name: string): Promise<string> =>
      (await read<{ steps: string[] }>(`/sources/${name}`)).steps.join(' ')
    const other = await stepsOf('other')
    assert.match(other, /`receiving\.sources\.other\.secret` of the configuration module in Postern/)
    assert.match(
      other,
      /The sender computes the HMAC-SHA256 of the raw body and sends it in hex in the header `x-other`\./,
    )
    assert.doesNotMatch(other, /provider|WEBHOOK_SECRET|x-signature/)
    const timed = await stepsOf('timed')
    assert.match(
      timed,
      /HMAC-SHA512 of `\{timestamp\}\.\{body\}` and sends it in base64 in the header `x-sum` as `v=DIGEST` and the time in `x-time`\./,
    )
    assert.match(
      await stepsOf('provider'),
      /the setting `WEBHOOK_SECRET` in Postern[^]* in the header `x-signature`\./,
    )
    for (const name of ['shop', 'code', 'chat']) assert.doesNotMatch(await stepsOf(name), /[{}]/, name)
  })

  const read = async <T>(path: string): Promise<T> => {
    const answer = await service.admin(path)
    assert.equal(answer.status, 200, path)
    return (await answer.json()) as T
  }

  test('are listed with their URLs and steps, and never with a secret', async () => {
    const { data } = await read<{ data: Source[] }>('/sources')
    assert.deepEqual(fields(data, 'name', 'scheme', 'canSign'), [
      ['provider', 'hmac', true],
      ['shop', 'stripe', true],
      ['code', 'github', true],
      ['chat', 'discord', false],
      ['other', 'hmac', false],
      ['timed', 'hmac', false],
    ])
    const shop = data[1]!
    assert.equal(shop.url, `${service.baseUrl}/webhooks/shop`)
    assert.equal(shop.hasSecret, true)
    assert.ok(shop.steps.some((step) => step.includes('whsec_')))
    assert.equal(shop.lastEventAt, null)
    assert.doesNotMatch(JSON.stringify(data), /whsec_of_the_shop|secret-of/)
    assert.equal((await service.admin('/sources/nobody')).status, 404)
  })

  test('take a signed sample, which is verified, stored and handled', async () => {
    const answer = await service.admin('/sources/shop/sample', {
      method: 'POST',
      json: { data: { id: 'in_1' } },
    })
    assert.equal(answer.status, 201)
    const { id, eventId, type } = (await answer.json()) as { id: number; eventId: string; type: string }
    assert.equal(type, 'invoice.paid')
    const event = await read<{ source: string; payload: { data: unknown } }>(`/events/${id}`)
    assert.equal(event.source, 'shop')
    assert.deepEqual(event.payload.data, { object: { id: 'in_1' } })
    await settled(service.database)
    assert.deepEqual(await readEffects(service.database), [eventId])
    const shop = await eventually(async () => {
      const found = await read<Detail>('/sources/shop')
      return found.day.accepted === 1 ? found : undefined
    })
    assert.ok(Math.abs(Date.parse(shop.lastEventAt!) - Date.now()) < 60_000)
    assert.equal(
      shop.slots.reduce((sum, { accepted }) => sum + accepted, 0),
      1,
    )
  })

  test('refuse a sample that cannot be signed here', async () => {
    for (const source of ['chat', 'other']) {
      const answer = await service.admin(`/sources/${source}/sample`, { method: 'POST' })
      assert.equal(answer.status, 422)
    }
    assert.equal((await service.admin('/sources/nobody/sample', { method: 'POST' })).status, 404)
  })

  test('count accepted, repeated and refused webhooks of a day, with the reason in words', async () => {
    for (const id of ['a', 'b', 'a', 'a']) await postWebhook(service, { id, type: 'order.paid' })
    const refused = await postWebhook(
      service,
      { id: 'c', type: 'order.paid' },
      { 'x-signature': 'ab'.repeat(32) },
    )
    assert.equal(refused.status, 401)
    const provider = await eventually(async () => {
      const found = await read<Detail>('/sources/provider')
      return found.day.refused === 1 && found.day.accepted === 4 ? found : undefined
    })
    assert.deepEqual(provider.day, { accepted: 4, duplicates: 2, dropped: 0, refused: 1 })
    assert.equal(provider.refusals[0]!.reason, 'signature-wrong')
    assert.match(provider.refusals[0]!.meaning, /does not match/)
    assert.ok(provider.lastRefusedAt)
  })
})
