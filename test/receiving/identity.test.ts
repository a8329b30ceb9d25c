// Over all presets: two deliveries are two events, a repetition is one, and nothing that is not signed changes a payload.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import * as presets from '../../src/receiving/schemes/index.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import type { Scheme } from '../../src/index.ts'
import { secretPresets } from '../harness/presets.ts'
import { engines, startedService } from '../harness/index.ts'
import { eventually } from './harness.ts'

const form = 'application/x-www-form-urlencoded'
const shared = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`
const ed25519 = generateKeyPairSync('ed25519')
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pkcs8 = { format: 'der', type: 'pkcs8' } as const
const spki = { format: 'der', type: 'spki' } as const
/** What signs and what verifies, where they differ. */
const keys: Record<string, readonly [signing: string, verifying: string]> = {
  adyen: ['ab'.repeat(32), 'ab'.repeat(32)],
  discord: [
    ed25519.privateKey.export(pkcs8).subarray(-32).toString('hex'),
    ed25519.publicKey.export(spki).subarray(-32).toString('hex'),
  ],
  sendgrid: [
    p256.privateKey.export(pkcs8).toString('base64'),
    p256.publicKey.export(spki).toString('base64'),
  ],
}
const { cloudEvents, eventGrid, hmac, standardWebhooks, microsoftGraph } = presets
const others = Object.entries(secretPresets).filter(
  ([name]) => !['cloudEvents', 'eventGrid', 'hmac', 'standardWebhooks', 'microsoftGraph'].includes(name),
)
const sources: Record<string, Scheme> = {
  provider: hmac({ header: 'x-signature', secret: shared }),
  'cloud-events': cloudEvents({ secret: shared }),
  'event-grid': eventGrid({ secret: shared }),
  'standard-webhooks': standardWebhooks({ secret: shared }),
  'microsoft-graph': microsoftGraph({ secret: shared }),
  ...Object.fromEntries(
    others.map(([name, preset]) => [
      name,
      preset({ secret: keys[name]?.[1] ?? shared, header: 'x-signature' }),
    ]),
  ),
  either: hmac({
    header: 'x-signature',
    secret: shared,
    id: { header: 'x-id' },
    type: { always: 'any' },
    mediaTypes: [],
  }),
}

/** A request of a sender. Without a body, the sample of its type. */
interface Sent {
  type?: string
  id?: string
  body?: string
  headers?: Record<string, string | undefined>
  /** Seconds by which it is signed later. */
  later?: number
}

/** What is sent, and how many events it is. */
type Case = [what: string, events: number, ...sent: Sent[]]

const tag = '{"object_kind":"tag_push","before":"82b3d5ae","after":"0000000","ref":"refs/tags/v1"}'
const oldGitlab = (uuid: string, body: string): Sent => ({
  body,
  headers: {
    'idempotency-key': undefined,
    'webhook-id': undefined,
    'webhook-signature': undefined,
    'x-gitlab-token': 'plain-token',
    'x-gitlab-event-uuid': uuid,
  },
})
const drive = `{"value":[{"subscriptionId":"s1","clientState":${JSON.stringify(shared)},"changeType":"updated","resource":"me/drive/root"}]}`
const missed = `{"value":[{"subscriptionId":"s1","clientState":${JSON.stringify(shared)},"lifecycleEvent":"missed"}]}`
const graphOf = (more: string): string => drive.replace('"changeType"', `${more},"changeType"`)
const ping = (at: number): string =>
  `{"type":"notification_event","id":null,"topic":"ping","created_at":${at},"data":{"item":{"type":"ping"}}}`
const hub = (more: string): string =>
  `[{"eventId":1,"subscriptionType":"contact.creation","attemptNumber":0,${more}}]`
const whatsapp = (messages: object[], time: number, more: object = {}): string =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: 'w', time, changes: [{ field: 'messages', value: { messages, ...more } }] }],
  })
const logOf = (id: string): string => `{"log_id":"${id}","data":{"type":"s"}}`
const cloudEventOf = (key: string): string => {
  const [source, id] = key.split(' ')
  return `{"specversion":"1.0","type":"a","source":"${source}","id":"${id}"}`
}
const suggestion = new URLSearchParams({
  payload: '{"type":"block_suggestion","value":"a","action_id":"x"}',
}).toString()
const trigger = '{"ticket":5}'

const cases: Record<string, Case[]> = {
  provider: [['other ids', 2, { id: 'p1' }, { id: 'p2' }, { id: 'p1' }]],
  stripe: [['other ids', 2, { id: 's1' }, { id: 's2' }, { id: 's1' }]],
  github: [['other deliveries of equal bodies', 2, ...['g1', 'g2', 'g1'].map((id) => ({ id, body: '{}' }))]],
  'standard-webhooks': [
    ['other ids of equal bodies', 2, ...['m1', 'm2', 'm1'].map((id) => ({ id, body: '{"type":"a"}' }))],
  ],
  adyen: [
    ['other references', 2, { id: 'a1' }, { id: 'a2' }, { id: 'a1' }],
    ['other event codes of one payment', 2, { id: 'a3' }, { id: 'a3', type: 'CAPTURE' }, { id: 'a3' }],
  ],
  bitbucket: [['other requests of equal bodies', 2, ...['b1', 'b2', 'b1'].map((id) => ({ id, body: '{}' }))]],
  auth0: [
    ['other logs', 2, { id: 'a1' }, { id: 'a2' }, { id: 'a1' }],
    [
      'logs that come together and again alone',
      3,
      { body: `${logOf('b1')}\n${logOf('b2')}\n` },
      { body: `[${logOf('b2')},${logOf('b3')}]` },
      { body: logOf('b1') },
    ],
  ],
  'cloud-events': [
    [
      'other ids, and one id of two sources',
      3,
      ...['/a 1', '/a 2', '/b 1', '/a 1'].map((key) => ({ body: cloudEventOf(key) })),
    ],
    [
      'events that come together and again alone',
      3,
      { body: `[${cloudEventOf('/c 1')},${cloudEventOf('/c 2')}]` },
      { body: cloudEventOf('/c 2') },
      { body: `[${cloudEventOf('/c 2')},${cloudEventOf('/c 3')},${cloudEventOf('/c 3')}]` },
      { body: '[]' },
    ],
    [
      'sources with spaces',
      2,
      ...['/d', '/d x'].map((source, at) => ({
        body: `{"specversion":"1.0","type":"a","source":"${source}","id":"${at === 0 ? 'x 1' : '1'}"}`,
      })),
    ],
  ],
  'event-grid': [
    ['other ids', 2, { id: 'g1' }, { id: 'g2' }, { id: 'g1' }],
    [
      'events of two topics and one topic in both schemas',
      3,
      { body: '[{"topic":"/t","id":"1","eventType":"a"},{"topic":"/u","id":"1","eventType":"a"}]' },
      { body: '[{"topic":"/t","id":"1","eventType":"a"}]' },
      { body: cloudEventOf('/v 1') },
    ],
  ],
  calendly: [['other invitees', 2, { id: 'c1' }, { id: 'c2' }, { id: 'c1' }]],
  discord: [['other seconds', 2, { id: 'd' }, { id: 'd', later: 1 }, { id: 'd' }]],
  docusign: [
    [
      'retries, and events of one envelope in one second',
      2,
      ...[
        ['completed', 0],
        ['completed', 3],
        ['sent', 0],
      ].map(([event, retryCount]) => ({
        body: JSON.stringify({ event, retryCount, generatedDateTime: '2026-03-01T12:00:00.0000000Z' }),
      })),
    ],
  ],
  dropbox: [['equal bodies, which have no id', 3, { id: 'x' }, { id: 'x' }, { id: 'x' }]],
  gitlab: [
    ['other keys of equal bodies', 2, ...['k1', 'k2', 'k1'].map((id) => ({ id, body: tag }))],
    [
      'before 17.4: webhooks that another one triggered share its UUID',
      2,
      oldGitlab('u1', '{"object_kind":"push","ref":"a"}'),
      oldGitlab('u1', '{"object_kind":"merge_request","object_attributes":{"action":"open"}}'),
      oldGitlab('u1', '{"object_kind":"push","ref":"a"}'),
    ],
    [
      'before 17.4: a tag is deleted twice',
      2,
      oldGitlab('u2', tag),
      oldGitlab('u3', tag),
      oldGitlab('u2', tag),
    ],
  ],
  hubspot: [
    ['other times', 2, ...['1', '2', '1'].map((at) => ({ body: hub(`"occurredAt":${at}`) }))],
    [
      'numbers beyond 2^53',
      2,
      ...['3', '2', '3'].map((end) => ({ body: hub(`"objectId":900719925474099${end}`) })),
    ],
  ],
  intercom: [
    ['other ids', 2, { id: 'i1' }, { id: 'i2' }, { id: 'i1' }],
    ['pings', 2, ...[1, 2, 1].map((at) => ({ body: ping(at) }))],
  ],
  linear: [['other deliveries', 2, { id: 'l1' }, { id: 'l2' }, { id: 'l1' }]],
  mailgun: [['other tokens', 2, { id: 't1' }, { id: 't2' }, { id: 't1' }]],
  meta: [
    [
      'other times',
      2,
      ...[1, 2, 1].map((time) => ({ body: `{"object":"page","entry":[{"id":"1","time":${time}}]}` })),
    ],
    [
      'a WhatsApp message that comes again in another body',
      2,
      { body: whatsapp([{ id: 'wamid.1', text: 'a' }], 1) },
      { body: whatsapp([{ id: 'wamid.1', text: 'a' }], 2, { contacts: [] }) },
      { body: whatsapp([{ id: 'wamid.2', text: 'a' }], 1) },
    ],
    [
      'WhatsApp messages that come together, and again in another batch',
      3,
      { body: whatsapp([{ id: 'wamid.4' }, { id: 'wamid.5' }], 4) },
      { body: whatsapp([{ id: 'wamid.5' }, { id: 'wamid.6' }], 5, { contacts: [] }) },
      { body: whatsapp([{ id: 'wamid.6' }], 6) },
    ],
    [
      'WhatsApp messages that come together, and states of one message',
      4,
      { body: whatsapp([{ id: 'wamid.1' }, { id: 'wamid.3' }], 3) },
      { body: whatsapp([{ id: 'wamid.1' }], 3, { statuses: [] }) },
      ...['sent', 'read', 'sent'].map((status) => ({
        body: JSON.stringify({
          object: 'whatsapp_business_account',
          entry: [{ changes: [{ field: 'messages', value: { statuses: [{ id: 'wamid.1', status }] } }] }],
        }),
      })),
    ],
  ],
  'microsoft-graph': [
    ['changes without id and time', 3, { body: drive }, { body: drive }, { body: drive }],
    ['lifecycle events', 2, { body: missed }, { body: missed }],
    ['notifications with ids', 2, ...['n1', 'n2', 'n1'].map((id) => ({ body: graphOf(`"id":"${id}"`) }))],
    [
      'versions of a resource',
      2,
      ...['v1', 'v2', 'v1'].map((tag) => ({ body: graphOf(`"resourceData":{"@odata.etag":"${tag}"}`) })),
    ],
  ],
  notion: [['other ids', 2, { id: 'n1' }, { id: 'n2' }, { id: 'n1' }]],
  pagerduty: [['other ids', 2, { id: 'p1' }, { id: 'p2' }, { id: 'p1' }]],
  paddle: [['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }]],
  sendgrid: [['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }]],
  sentry: [['other requests of equal bodies', 2, ...['r1', 'r2', 'r1'].map((id) => ({ id, body: '{}' }))]],
  shopify: [
    [
      'webhooks of one topic and one action',
      2,
      ...['w1', 'w2', 'w1'].map((id) => ({ id, body: '{}', headers: { 'x-shopify-event-id': 'one' } })),
    ],
  ],
  slack: [
    ['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }],
    [
      'interactions without a trigger id',
      2,
      ...[0, 1, 0].map((later) => ({ later, body: suggestion, headers: { 'content-type': form } })),
    ],
  ],
  square: [['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }]],
  twilio: [['other messages', 2, { id: 'SM1' }, { id: 'SM2' }, { id: 'SM1' }]],
  typeform: [['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }]],
  woocommerce: [
    [
      'products of one second, which share an id',
      2,
      ...[1, 2, 1].map((n) => ({ id: 'd1', body: `{"id":${n}}` })),
    ],
    ['equal bodies of other seconds', 2, ...['d2', 'd3', 'd2'].map((id) => ({ id, body: '{"id":1}' }))],
  ],
  x: [['other posts', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }]],
  zendesk: [
    ['other ids', 2, { id: 'e1' }, { id: 'e2' }, { id: 'e1' }],
    ['runs of a trigger', 2, ...['r1', 'r2', 'r1'].map((id) => ({ id, body: trigger }))],
    [
      'runs of a trigger without their header',
      2,
      ...[0, 1, 0].map((later) => ({
        later,
        body: trigger,
        headers: { 'x-zendesk-webhook-invocation-id': undefined },
      })),
    ],
  ],
  zoom: [['other times', 2, { id: 'z' }, { id: 'z', later: 1 }, { id: 'z' }]],
}
const types: Record<string, string> = {
  github: 'issues.opened',
  bitbucket: 'repo:push',
  gitlab: 'merge_request.open',
  linear: 'Issue.create',
  meta: 'page.feed',
  twilio: 'message.delivered',
  zendesk: 'zen:event-type:ticket.created',
}

/** An attacker's payload within a text that the sender signs. */
const hidden = '"&payload=%7B%22action%22:%22deleted%22%7D&command=/deploy&MessageStatus=x&'
const bodies: Record<string, string[]> = {
  github: [
    JSON.stringify({ action: 'opened', issue: { title: hidden } }),
    `payload=${encodeURIComponent('{"action":"opened"}')}`,
  ],
  slack: [
    JSON.stringify({ type: 'event_callback', event_id: 'Ev1', event: { type: 'message', text: hidden } }),
    suggestion.replace('x', 'y'),
    'command=%2Fdeploy&text=a',
  ],
  zendesk: [trigger, 'status=open', '<ticket status="open"/>', 'open'],
  either: ['{"a":1}', ' [1]', 'a=1&b=2', '<a b="c"/>', '"a=b"', 'text', '', 'a b=c', '\ufeff{"a":1}'],
}
const mediaTypes = [
  'application/json',
  'application/vnd.a+json',
  form,
  `${form}; charset=utf-8`,
  'text/plain',
  'text/xml',
  'application/octet-stream',
]

describe('identity', () => {
  const payloads = new Map<string, { type: string; payload: unknown; raw: string }[]>()
  const service = startedService(engines[0]!, () => ({
    receiving: {
      sources: { ...sources, gitlab: presets.gitlab({ secret: [shared, 'plain-token'] }) },
      handlers: {
        '*': ({ source, type, payload, raw }) =>
          void payloads.set(source, [
            ...(payloads.get(source) ?? []),
            { type, payload, raw: raw.toString() },
          ]),
      },
    },
  }))
  const now = Date.now()

  async function send(
    source: string,
    { type, id = 'e1', body, headers = {}, later = 0 }: Sent,
  ): Promise<number> {
    const signed = samples[source === 'either' ? 'provider' : source]!({
      type: type ?? types[source] ?? 'a.b',
      secret: keys[source]?.[0] ?? shared,
      id,
      now: now + later * 1000,
      data: { text: 'Grüße' },
      url: `${service.baseUrl}/webhooks/${source}`,
      raw: body,
    })
    const all = { 'content-type': 'application/json', ...signed.headers, ...headers }
    const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body: Buffer.from(signed.body),
      headers: present,
    })
    await response.arrayBuffer()
    return response.status
  }
  const eventsOf = async (source: string): Promise<number> =>
    (await service.database.reader.selectFrom('events').select('id').where('source', '=', source).execute())
      .length

  test('every preset has its cases', () => {
    assert.deepEqual(Object.keys(cases).toSorted(), Object.keys(samples).toSorted())
    assert.deepEqual(
      Object.keys(cases).toSorted(),
      Object.keys(sources)
        .filter((name) => name !== 'either')
        .toSorted(),
    )
  })

  for (const [source, those] of Object.entries(cases))
    for (const [what, events, ...sent] of those)
      test(`${source}: ${what}`, async () => {
        const before = await eventsOf(source)
        for (const one of sent) assert.ok([200, 204].includes(await send(source, one)), JSON.stringify(one))
        assert.equal((await eventsOf(source)) - before, events)
      })

  for (const source of Object.keys(sources))
    test(`${source}: the same bytes under another Content-Type have the same payload`, async () => {
      for (const [index, body] of (bodies[source] ?? [undefined]).entries()) {
        payloads.delete(source)
        const before = await eventsOf(source)
        for (const [position, mediaType] of mediaTypes.entries()) {
          const id = `typed-${index}-${position}`
          const headers = {
            'content-type': mediaType,
            'x-id': id,
            'x-github-delivery': id,
            'x-zendesk-webhook-invocation-id': id,
          }
          const status = await send(source, {
            id: `typed-${index}`,
            headers,
            ...(body !== undefined && { body }),
          })
          assert.ok([200, 204, 415].includes(status), `${mediaType}: ${status}`)
        }
        const stored = (await eventsOf(source)) - before
        assert.ok(stored > 0)
        const seen = await eventually(() =>
          payloads.get(source)?.length === stored ? payloads.get(source) : undefined,
        )
        for (const { type, payload } of seen)
          assert.deepEqual([type, payload], [seen[0]!.type, seen[0]!.payload])
      }
    })
})
