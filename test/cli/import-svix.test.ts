// `postern import svix`, from a server that answers as Svix's does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { Webhook } from 'svix'
import { each, engines, fields, started, startedService, startReceiver } from '../harness/index.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { startSvixServer, type SvixEndpoint } from '../harness/svix-server.ts'
import { type Ended, postern, startPostern } from './command.ts'

const secret = `whsec_${Buffer.from('a secret of twenty-four!').toString('base64')}`
const long = '2020-01-01T00:00:00Z'

for (const engine of engines)
  describe(`postern import svix on ${engine.name}`, () => {
    const folder = temporaryFolder()
    // Old messages stay, also if the tests take longer than the minute until the first round of the retention.
    const stored = { PAYLOAD_RETENTION_DAYS: 'off', MARKER_RETENTION_DAYS: 'off' }
    const service = startedService(engine, () => ({ env: { ALLOW_PRIVATE_NETWORK: 'true', ...stored } }))
    const receiver = started(startReceiver)
    const svix = started(startSvixServer)

    const env = (): Record<string, string> => ({
      DATABASE_URL: service.databaseUrl,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      WEBHOOK_SECRET: 'x',
      ALLOW_PRIVATE_NETWORK: 'true',
      SVIX_AUTH_TOKEN: svix.token,
    })
    const args = (...more: string[]): string[] => ['import', 'svix', '--from', svix.url, ...more]
    const run = (...more: string[]): Promise<Ended> => postern(folder, args(...more), env())

    const endpoint = (id: string, more: Partial<SvixEndpoint> = {}): SvixEndpoint => ({
      id,
      url: `${receiver.url}/${id}`,
      description: '',
      disabled: false,
      eventTypes: null,
      channels: null,
      throttleRate: null,
      metadata: {},
      key: secret,
      updatedAt: long,
      ...more,
    })
    const application = (id: string, endpoints: SvixEndpoint[], more: object = {}) => ({
      id,
      name: id,
      metadata: {},
      throttleRate: null,
      updatedAt: long,
      endpoints,
      ...more,
    })

    interface Shown {
      id: string
      uid: string
      status: string
      [field: string]: unknown
    }
    async function subscribersOf(owner: string): Promise<Shown[]> {
      const answer = await service.admin(`/subscribers?owner=${owner}`)
      const { data } = (await answer.json()) as { data: Shown[] }
      return data.toSorted((a, b) => a.uid.localeCompare(b.uid))
    }

    test('everything is imported unchanged, and a second run changes nothing', async () => {
      svix.eventTypes = [
        {
          name: 'order.old',
          description: 'Old',
          archived: true,
          deprecated: true,
          schemas: null,
          updatedAt: long,
        },
        {
          name: 'order.paid',
          description: 'Paid',
          archived: false,
          deprecated: false,
          schemas: { 1: { type: 'object' } },
          updatedAt: long,
        },
      ]
      svix.applications = [
        application(
          'app_1',
          [
            endpoint('ep_1', {
              uid: 'orders',
              eventTypes: ['order.paid'],
              channels: ['eu'],
              throttleRate: 5,
              metadata: { team: 'a' },
              headers: { 'x-tenant': '7' },
            }),
            endpoint('ep_2', { disabled: true, description: 'The second' }),
          ],
          { uid: 'acme', name: 'Acme', metadata: { plan: 'pro' } },
        ),
        application('app_2', [endpoint('ep_3')]),
      ]
      const dry = await run('--dry-run')
      assert.equal(dry.code, 0, dry.stderr)
      assert.match(dry.stdout, /^endpoints: 3 created$/m)
      assert.deepEqual(await subscribersOf('acme'), [])
      const first = await run()
      assert.equal(first.code, 0, first.stderr)
      assert.equal(first.stdout, 'event types: 2 created\napplications: 2 created\nendpoints: 3 created\n')
      const second = await run()
      assert.equal(
        second.stdout,
        'event types: 2 unchanged\napplications: 2 unchanged\nendpoints: 3 unchanged\n',
      )

      const [second2, orders] = await subscribersOf('acme')
      assert.partialDeepStrictEqual(orders, {
        uid: 'orders',
        status: 'active',
        eventTypes: ['order.paid'],
        channels: ['eu'],
        rateLimit: 5,
        metadata: { team: 'a' },
        headers: { 'x-tenant': '7' },
        signatureHeaders: 'svix',
        body: 'data',
      })
      assert.partialDeepStrictEqual(second2, {
        uid: 'ep_2',
        status: 'disabled',
        description: 'The second',
        eventTypes: ['*'],
      })
      assert.equal((await subscribersOf('app_2'))[0]!.uid, 'ep_3')
      const owner = (await (await service.admin('/owners/acme')).json()) as object
      assert.partialDeepStrictEqual(owner, { name: 'Acme', metadata: { plan: 'pro' } })

      const path = '/api/v1/app/app_2/endpoint/ep_3'
      const update = { method: 'PUT', json: { url: `${receiver.url}/changed` } }
      assert.equal((await service.admin(path, update)).status, 200)
      const found = (await (await service.admin(path)).json()) as object
      assert.partialDeepStrictEqual(found, { url: `${receiver.url}/changed`, uid: null }, 'by its former id')

      const event = { type: 'order.paid', data: { order: 1 }, audience: 'acme', channels: ['eu'] }
      assert.equal((await service.admin('/events', { method: 'POST', json: event })).status, 202)
      const [call] = await receiver.waitFor(1)
      new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>)
      assert.equal(call!.body.toString(), '{"order":1}')
      assert.ok(call!.headers['svix-signature'])
    })

    test('an endpoint is paused if Svix hides a header or private key, and skipped with a reason if Postern rejects it', async () => {
      svix.eventTypes = []
      svix.applications = [
        application('app_3', [
          endpoint('ep_a', { headers: { 'x-tenant': '7' }, sensitive: ['Authorization'] }),
          endpoint('ep_b', { key: `whpk_${Buffer.alloc(32, 1).toString('base64')}` }),
          endpoint('ep_c', { url: 'ftp://hooks.example.com/' }),
          endpoint('ep_d', { key: 'whsec_c2hvcnQ=' }),
        ]),
      ]
      const { code, stdout, stderr } = await run()
      assert.equal(code, 3, stderr)
      assert.match(stdout, /^endpoints: 2 created, 2 skipped\npaused until you complete them: 2$/m)
      assert.match(stderr, /^endpoint ep_a of application app_3 is paused: set its header Authorization/m)
      assert.match(stderr, /^endpoint ep_b of application app_3 is paused: .*public key$/m)
      assert.match(stderr, /^endpoint ep_c of application app_3 was skipped: .*http/m)
      assert.match(stderr, /^endpoint ep_d of application app_3 was skipped: The secret must be/m)
      const found = await subscribersOf('app_3')
      assert.deepEqual(fields(found, 'uid', 'status', 'signing'), [
        ['ep_a', 'paused', 'v1'],
        ['ep_b', 'paused', 'v1a'],
      ])
      // Somebody adds the hidden header. A later change at Svix does not remove it.
      const headers = { 'x-tenant': '7', authorization: 'Bearer 1' }
      const change = { method: 'PATCH', json: { headers, status: 'active' } }
      assert.equal((await service.admin(`/subscribers/${found[0]!.id}`, change)).status, 200)
      const rotated = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
      svix.applications[0]!.endpoints = [
        endpoint('ep_a', {
          sensitive: ['Authorization'],
          description: 'Changed',
          key: rotated,
          updatedAt: '2999-01-01T00:00:00Z',
        }),
        endpoint('ep_b', {
          key: `whpk_${Buffer.alloc(32, 1).toString('base64')}`,
          updatedAt: '2999-01-01T00:00:00Z',
        }),
      ]
      assert.match((await run()).stdout, /^endpoints: 2 updated$/m)
      const [changed, waiting] = await subscribersOf('app_3')
      assert.equal(waiting!.status, 'paused')
      assert.partialDeepStrictEqual(changed, { status: 'active', description: 'Changed' })
      assert.deepEqual(changed!['headers'], { authorization: '[redacted]' })
      const key = await (await service.admin('/api/v1/app/app_3/endpoint/ep_a/secret')).json()
      assert.deepEqual(key, { key: rotated })
    })

    test('an endpoint is changed together with its secret, so that an import that breaks off can be repeated', async () => {
      svix.applications = [application('app_broken', [endpoint('ep_broken')])]
      await run()
      const execute = (statement: string) =>
        service.database.transaction((tx) => sql.raw(statement).execute(tx))
      const trigger = `create trigger refuse before update on subscribers`
      const statements =
        engine.name === 'sqlite'
          ? [`${trigger} when new.description = 'New' begin select raise(abort, 'broken off'); end`]
          : [
              `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken off'; end $$`,
              `${trigger} for each row when (new.description = 'New') execute function refuse()`,
            ]
      for (const statement of statements) await execute(statement)
      const key = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
      const updatedAt = new Date().toISOString()
      svix.applications[0]!.endpoints = [endpoint('ep_broken', { description: 'New', key, updatedAt })]
      const broken = await run()
      assert.equal(broken.code, 1, broken.stdout)
      await execute(`drop trigger refuse${engine.name === 'sqlite' ? '' : ' on subscribers'}`)
      assert.match((await run()).stdout, /^endpoints: 1 updated$/m)
      assert.equal((await subscribersOf('app_broken'))[0]!['description'], 'New')
    })

    test('Ctrl-C stops the import after an application, and --iterator continues it', async () => {
      svix.applications = Array.from({ length: 60 }, (_, at) => application(`app_many_${100 + at}`, []))
      svix.applications.at(-5)!.endpoints = [endpoint('ep_last')]
      const { child, ended } = startPostern(folder, args(), env())
      svix.before = (path) => {
        if (path === '/api/v1/app/app_many_155/endpoint') child.kill('SIGINT')
      }
      const { code, stdout, stderr } = await ended
      svix.before = () => {}
      assert.equal(code, 130, stderr)
      const [, iterator] =
        /^interrupted: run it again with --iterator (app_many_149) to continue$/m.exec(stdout) ?? []
      assert.ok(iterator, stdout)
      svix.requests.length = 0
      const rest = await run('--iterator', iterator)
      assert.equal(rest.code, 0, rest.stderr)
      assert.ok(svix.requests.length < 20, 'it begins at that page')
      assert.equal((await subscribersOf('app_many_155')).length, 1)
    })

    test('messages are imported in their order and not sent, and a repeated eventId is not sent again', async () => {
      const began = Date.now() - 150 * 86_400_000
      const message = (number: number, more: object = {}) => ({
        id: `msg_${String(number).padStart(27, '0')}`,
        eventType: 'order.sent',
        payload: { order: number },
        timestamp: new Date(began + number * 60_000).toISOString(),
        ...more,
      })
      svix.eventTypes = [{ name: 'order.sent', description: '', updatedAt: long }]
      svix.applications = [
        application('app_sent', [endpoint('ep_sent')], {
          messages: [
            ...Array.from({ length: 260 }, (_, number) => message(number)),
            message(900, { eventId: 'order-900', channels: ['eu'], tags: ['new'] }),
            message(901, { eventType: 'no type' }),
            message(902, { deliverAt: '2999-01-01T00:00:00Z' }),
          ],
        }),
      ]
      const before = receiver.calls.length
      assert.match(
        (await run('--dry-run', '--messages-since', '200d')).stdout,
        /^messages: 261 created, 1 unchanged, 1 skipped$/m,
      )
      const first = await run('--messages-since', '200d')
      assert.equal(first.code, 3, first.stderr)
      assert.match(first.stderr, /^message msg_0+901 was skipped: The event's type must/m)
      assert.match(first.stdout, /^messages: 261 created, 1 unchanged, 1 skipped$/m)
      assert.match((await run('--messages-since', '200d')).stdout, /^messages: 262 unchanged, 1 skipped$/m)

      const path = '/api/v1/app/app_sent/msg'
      const page = (await (await service.admin(`${path}?limit=3&before=2999-01-01T00:00:00Z`)).json()) as {
        data: { payload: unknown; timestamp: string }[]
      }
      assert.deepEqual(each(page.data, 'payload'), [{ order: 900 }, { order: 259 }, { order: 258 }])
      assert.partialDeepStrictEqual(page.data[0], {
        eventId: 'order-900',
        channels: ['eu'],
        tags: ['new'],
        timestamp: message(900).timestamp,
      })
      const create = (json: object) => service.admin(path, { method: 'POST', json })
      assert.equal((await create({ eventType: 'order.sent', eventId: 'order-900', payload: {} })).status, 409)
      assert.equal(
        (await create({ eventType: 'order.sent', eventId: 'order-1000', payload: {} })).status,
        202,
      )
      await receiver.waitFor(before + 1)
      assert.equal(receiver.calls.length, before + 1)
    })

    test('a wrong token, a server that is not Svix, and an unavailable server are reported', async () => {
      const wrong = await postern(folder, args(), { ...env(), SVIX_AUTH_TOKEN: 'wrong' })
      assert.equal(wrong.code, 1)
      assert.match(wrong.stderr, /rejected the API key .*set SVIX_AUTH_TOKEN/)
      const { SVIX_AUTH_TOKEN: _, ...without } = env()
      assert.equal((await postern(folder, args(), without)).code, 2)
      svix.applications = []
      svix.failures = [503]
      assert.equal((await run()).code, 0, 'it tries again')
    })
  })
