// Every route that changes something writes to the audit log, or stands below with the reason why it need not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, fields, onOneEngine, started, startedService, startReceiver } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { type AuditAction, createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { emit, expectJson, settled as deliverySettled, subscribe, until } from '../emitting/harness.ts'
import { appCode, exchange, newPkce, signIn, spa, whoAmI, codeGrant } from '../login/harness.ts'
import { postWebhook, settled } from '../receiving/harness.ts'

/** Routes that write no entry, with the reason. */
const exceptions: Record<string, string> = {
  'POST /transformations/test': 'changes nothing',
  'POST /portal/transformations/test': 'changes nothing',
  'POST /webhooks/provider': 'data of senders: kept as an event, or as a rejected webhook',
  'POST /events': 'data of the application: kept as events with their deliveries',
  'POST /auth/:provider/callback': 'leads on to the GET route, which writes the entry of the sign-in',
  'POST /auth/:provider/link': 'begins a flow; its callback writes identity.linked or identity.link_failed',
  'POST /login/offer':
    'a form on a page; test/login/same-address.test.ts checks the entries of the sign-in and the link',
  'POST /oauth2/authorize': 'leads on to the GET route, which writes the entry',
  'POST /oauth2/consent': 'a person answers it on a page; test/oauth2/consent.test.ts checks the entry',
  'POST /oauth2/par': 'stores a request for a minute; the authorization has its entry',
  'POST /oauth2/token': 'the sign-in that it completes has its entry; refused codes and tokens have theirs',
  'POST /oauth2/userinfo': 'changes nothing',
  'POST /oauth2/introspect': 'changes nothing; refused questions have their entries',
  'POST /oauth2/revoke': 'test/oauth2/client-calls.test.ts: tokens.revoked, if there was such a token',
  'POST /auth/token': 'the sign-in that it completes has its entry; refused codes and tokens have theirs',
  'POST /auth/:provider/token': 'test/login/native-sign-in.test.ts: user.signed_in, or sign_in.failed',
  'POST /device': 'a person decides on a page; test/oauth2/device.test.ts checks the entries',
  'POST /oauth2/device_authorization': 'stores a request for ten minutes; the decision has its entry',
  'POST /users/:id/impersonate': 'test/accounts/impersonation.test.ts: impersonation.started',
  'POST /auth/impersonation/stop': 'test/accounts/impersonation.test.ts: impersonation.ended',
  'POST /oauth2/end-session': 'leads on to the GET route, which writes the entry of the sign-out',
}

interface Owner {
  call(method: string, path: string, json?: unknown): Promise<Response>
}

onOneEngine('the audit log and all routes', (engine) => {
  const provider = started(startOAuthProvider)
  const receiver = started(startReceiver)
  const service = startedService(engine, () => ({
    env: {
      ...provider.env('ACME'),
      ...provider.env('OTHER'),
      ALLOW_PRIVATE_NETWORK: 'true',
      EMIT_RETRY_SCHEDULE: '0',
      HANDLER_RETRY_SCHEDULE: '0',
    },
    config: {
      login: { clients: [spa] },
      receiving: {
        handlers: {
          '*': () => {
            throw new Error('broken')
          },
        },
      },
    },
  }))

  const admin = (method: string, path: string, json?: unknown): Promise<Response> =>
    service.admin(path, { method, json })
  const last = async (): Promise<number> => {
    const query = service.database.reader.selectFrom('audit_log')
    const { seq } = await query
      .select((eb) => eb.fn.max<number | null>('seq').as('seq'))
      .executeTakeFirstOrThrow()
    return seq ?? 0
  }
  const since = (seq: number) =>
    service.database.reader
      .selectFrom('audit_log')
      .selectAll()
      .where('seq', '>', seq)
      .orderBy('seq')
      .execute()

  async function makeLink(owner: string): Promise<string> {
    const { url } = await expectJson<{
      url: string
    }>(service, 201, '/portal-links', {
      method: 'POST',
      json: { owner },
    })
    return url.split('#')[1]!
  }
  const open = (token: string): Promise<Response> =>
    service.fetch('/portal/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    })
  async function enter(): Promise<Owner> {
    const [cookie = ''] = (await open(await makeLink('acme'))).headers.getSetCookie()[0]!.split(';')
    return {
      call: (method, path, json) =>
        service.fetch(path, {
          method,
          headers: { cookie, ...(json !== undefined && { 'content-type': 'application/json' }) },
          ...(json !== undefined && { body: JSON.stringify(json) }),
        }),
    }
  }
  async function signedIn(id: string): Promise<Browser> {
    const browser = new Browser()
    provider.profile = { id, displayName: id }
    await signIn(service, browser)
    return browser
  }
  const go = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), { method })

  /** The same calls for admins and for owners. */
  function subscriberCalls(
    prefix: '' | '/portal',
    caller: () => Promise<Owner>,
  ): Record<string, [AuditAction, () => Promise<Response>]> {
    const owner = prefix === '' ? null : 'acme'
    const settings = { url: receiver.url, ...(owner !== null && { owner }) }
    const one = async (more: object = {}): Promise<string> =>
      (await subscribe(service, { ...settings, ...more })).id
    const given = prefix === '' ? settings : { url: receiver.url }
    return {
      [`POST ${prefix}/subscribers`]: [
        'subscriber.created',
        async () => (await caller()).call('POST', `${prefix}/subscribers`, given),
      ],
      [`PATCH ${prefix}/subscribers/:id`]: [
        'subscriber.changed',
        async () =>
          (await caller()).call('PATCH', `${prefix}/subscribers/${await one()}`, { description: 'new' }),
      ],
      [`DELETE ${prefix}/subscribers/:id`]: [
        'subscriber.deleted',
        async () => (await caller()).call('DELETE', `${prefix}/subscribers/${await one()}`),
      ],
      [`POST ${prefix}/subscribers/:id/rotate-secret`]: [
        'subscriber.secret_rotated',
        async () => (await caller()).call('POST', `${prefix}/subscribers/${await one()}/rotate-secret`),
      ],
      [`POST ${prefix}/subscribers/:id/test`]: [
        'subscriber.tested',
        async () => (await caller()).call('POST', `${prefix}/subscribers/${await one()}/test`),
      ],
      [`POST ${prefix}/deliveries/:id/replay`]: [
        'delivery.replayed',
        async () => {
          const type = `t${owner ?? ''}.one`
          const id = await one({ eventTypes: [type] })
          await emit(service, { type, data: {}, ...(owner !== null && { audience: owner }) })
          const { id: delivery } = await deliverySettled(service, id, 'delivered')
          return (await caller()).call('POST', `${prefix}/deliveries/${delivery}/replay`)
        },
      ],
      [`POST ${prefix}/subscribers/:id/replay`]: [
        'replay.started',
        async () => (await caller()).call('POST', `${prefix}/subscribers/${await one()}/replay`, {}),
      ],
      [`DELETE ${prefix}/jobs/:id`]: [
        'job.cancelled',
        async () => {
          const id = `0198a1b2-c3d4-7e5f-8a6b-${owner === null ? '0' : '1'}00000000000`
          const row = {
            id,
            kind: 'replay',
            subscriber_id: await one(),
            filter: '{"upTo":0}',
            total: 5,
          } as const
          const times = { due_at: Date.now() + 3_600_000, created_at: 0, updated_at: 0 }
          const rest = { status: 'running', done: 0, position: 0, rate: 1, claim: null, ...times } as const
          await service.database.transaction((tx) =>
            tx
              .insertInto('jobs')
              .values({ ...row, ...rest })
              .execute(),
          )
          return (await caller()).call('DELETE', `${prefix}/jobs/${id}`)
        },
      ],
    }
  }

  async function aGroup(): Promise<string> {
    await failedEvent('grouped')
    const page = await expectJson<{ data: { id: string }[] }>(service, 200, '/failures')
    return page.data[0]!.id
  }
  async function failedEvent(id: string): Promise<number> {
    await postWebhook(service, { id, type: 'order.paid' })
    await settled(service.database)
    const page = await expectJson<{ data: { id: number }[] }>(service, 200, '/events/failed')
    return page.data[0]!.id
  }

  function itemCalls(path: string, item: object): Record<string, [AuditAction, () => Promise<Response>]> {
    const make = async (): Promise<string> =>
      idOf(await expectJson(service, 201, path, { method: 'POST', json: item }))
    const [[field, value]] = Object.entries(item) as [[string, unknown]]
    return {
      [`POST ${path}`]: ['item.created', () => admin('POST', path, item)],
      [`PATCH ${path}/:id`]: [
        'item.changed',
        async () => admin('PATCH', `${path}/${await make()}`, { [field]: value }),
      ],
      [`DELETE ${path}/:id`]: ['item.deleted', async () => admin('DELETE', `${path}/${await make()}`)],
    }
  }

  /** The client of the configuration in which a new user is signed in, and the id of the sign-in. */
  async function appSignIn(): Promise<string> {
    provider.profile = { id: 'in-an-app' }
    const pkce = newPkce()
    const { status } = await exchange(service, codeGrant(await appCode(service, pkce), pkce))
    assert.equal(status, 200)
    const answer = (await (
      await service.admin(`/clients/${spa.id}/sign-ins`)
    ).json()) as AnswerTo<'GET /clients/{id}/sign-ins'>
    return `/clients/${spa.id}/sign-ins/${answer.data[0]!.id}`
  }

  function clientCalls(): Record<string, [AuditAction, () => Promise<Response>]> {
    const app = { name: 'app', redirectUris: ['https://app.example.com/callback'] }
    const make = async (): Promise<string> =>
      idOf(await expectJson(service, 201, '/clients', { method: 'POST', json: app }))
    const secretOf = async (id: string): Promise<string> =>
      idOf(await expectJson(service, 201, `/clients/${id}/secrets`, { method: 'POST' }))
    return {
      'POST /clients': ['client.created', () => admin('POST', '/clients', app)],
      'PATCH /clients/:id': [
        'client.changed',
        async () => admin('PATCH', `/clients/${await make()}`, { name: 'b' }),
      ],
      'DELETE /clients/:id': ['client.deleted', async () => admin('DELETE', `/clients/${await make()}`)],
      'DELETE /clients/:id/sign-ins/:signInId': [
        'tokens.revoked',
        async () => admin('DELETE', await appSignIn()),
      ],
      'POST /clients/:id/secrets': [
        'client.secret_created',
        async () => admin('POST', `/clients/${await make()}/secrets`),
      ],
      'DELETE /clients/:id/secrets/:secretId': [
        'client.secret_removed',
        async () => {
          const id = await make()
          return admin('DELETE', `/clients/${id}/secrets/${await secretOf(id)}`)
        },
      ],
    }
  }

  function alertCalls(): Record<string, [AuditAction, () => Promise<Response>]> {
    const destination = { kind: 'slack', name: 'ops', url: receiver.url }
    const make = async (): Promise<string> =>
      idOf(await expectJson(service, 201, '/alerts', { method: 'POST', json: destination }))
    return {
      'POST /alerts': ['alert.created', () => admin('POST', '/alerts', destination)],
      'PATCH /alerts/:id': [
        'alert.changed',
        async () => admin('PATCH', `/alerts/${await make()}`, { enabled: false }),
      ],
      'DELETE /alerts/:id': ['alert.deleted', async () => admin('DELETE', `/alerts/${await make()}`)],
      'POST /alerts/:id/test': ['alert.tested', async () => admin('POST', `/alerts/${await make()}/test`)],
    }
  }

  const calls = (): Record<string, [AuditAction, () => Promise<Response>]> => ({
    ...subscriberCalls('', async () => ({ call: admin })),
    ...subscriberCalls('/portal', enter),
    ...clientCalls(),
    ...itemCalls('/products', { name: 'Lamp', category: 'home', price: 1, stock: 1 }),
    ...itemCalls('/api/posts', { title: 'Hello', body: 'World' }),
    'POST /handlers/:id/pause': ['handler.paused', () => admin('POST', '/handlers/*/pause')],
    'POST /handlers/:id/resume': ['handler.resumed', () => admin('POST', '/handlers/*/resume')],
    'POST /failures/:id/rerun': [
      'reprocess.started',
      async () => admin('POST', `/failures/${await aGroup()}/rerun`),
    ],
    'POST /events/:id/dry-run': [
      'event.dry_run',
      async () => admin('POST', `/events/${await failedEvent('rehearsed')}/dry-run`),
    ],
    'POST /sources/:name/sample': ['source.sampled', () => admin('POST', '/sources/provider/sample', {})],
    'DELETE /events/:id': [
      'event.canceled',
      async () => {
        const json = { type: 'order.paid', data: {}, delay: 60 }
        return admin(
          'DELETE',
          `/events/${idOf(await expectJson(service, 202, '/events', { method: 'POST', json }))}`,
        )
      },
    ],
    'DELETE /events/:id/payload': [
      'event.payload_removed',
      async () => {
        const json = { type: 'order.paid', data: {} }
        return admin(
          'DELETE',
          `/events/${idOf(await expectJson(service, 202, '/events', { method: 'POST', json }))}/payload`,
        )
      },
    ],
    'POST /events/reprocess': ['reprocess.started', () => admin('POST', '/events/reprocess', {})],
    'POST /events/:id/reprocess': [
      'event.reprocessed',
      async () => admin('POST', `/events/${await failedEvent('again')}/reprocess`),
    ],
    ...alertCalls(),
    'POST /keys': ['key.created', () => admin('POST', '/keys', { name: 'a', scopes: ['operate'] })],
    'POST /invitations': ['invitation.created', () => admin('POST', '/invitations', {})],
    'DELETE /invitations/:id': [
      'invitation.revoked',
      async () => {
        const id = idOf(await expectJson(service, 201, '/invitations', { method: 'POST', json: {} }))
        return admin('DELETE', `/invitations/${id}`)
      },
    ],
    'DELETE /keys/:id': [
      'key.revoked',
      async () => {
        const json = { name: 'b', scopes: ['operate'] }
        const id = idOf(await expectJson(service, 201, '/keys', { method: 'POST', json }))
        return admin('DELETE', `/keys/${id}`)
      },
    ],
    'PUT /event-types/:type': [
      'event_type.created',
      () => admin('PUT', '/event-types/order.audited', { description: 'Audited.' }),
    ],
    'DELETE /event-types/:type': [
      'event_type.deleted',
      async () => {
        await admin('PUT', '/event-types/order.gone', {})
        return admin('DELETE', '/event-types/order.gone')
      },
    ],
    'PUT /owners/:owner': ['owner.named', () => admin('PUT', '/owners/acme', { name: 'Acme Corporation' })],
    'DELETE /owners/:owner': [
      'owner.deleted',
      async () => {
        await expectJson(service, 200, '/owners/gone', { method: 'PUT', json: { name: 'Gone' } })
        return admin('DELETE', '/owners/gone')
      },
    ],
    'PATCH /owners/:owner/brand': [
      'portal.brand_changed',
      () => admin('PATCH', '/owners/acme/brand', { name: 'Acme' }),
    ],
    'POST /portal-links': ['portal.link_created', () => admin('POST', '/portal-links', { owner: 'acme' })],
    'DELETE /portal-links': ['portal.revoked', () => admin('DELETE', '/portal-links?owner=nobody')],
    'POST /portal/session': ['portal.opened', async () => open(await makeLink('acme'))],
    'DELETE /portal/session': ['portal.left', async () => (await enter()).call('DELETE', '/portal/session')],
    'POST /auth/logout': ['user.signed_out', async () => go(await signedIn('out'), 'POST', '/auth/logout')],
    'POST /oauth2/end-session/confirm': [
      'user.signed_out',
      async () =>
        (await signedIn('confirms')).go(new URL('/oauth2/end-session/confirm', service.baseUrl), {
          method: 'POST',
          body: new URLSearchParams({ state: 'confirmed' }),
        }),
    ],
    'DELETE /auth/apps/:clientId': [
      'app.removed',
      async () => {
        const browser = await signedIn('removes')
        const { id } = (await whoAmI(service, browser))!
        const times = { granted_at: 1, updated_at: 1 }
        await service.database.transaction((tx) =>
          tx
            .insertInto('consents')
            .values({ user_id: id, client_id: 'forum', scope: 'openid', resource: '', ...times })
            .execute(),
        )
        return go(browser, 'DELETE', '/auth/apps/forum')
      },
    ],
    'DELETE /auth/sessions': [
      'session.revoked',
      async () => {
        await signedIn('others')
        return go(await signedIn('others'), 'DELETE', '/auth/sessions')
      },
    ],
    'DELETE /auth/sessions/:id': [
      'session.revoked',
      async () => {
        const browser = await signedIn('one')
        const answer = (await (
          await go(browser, 'GET', '/auth/sessions')
        ).json()) as AnswerTo<'GET /auth/sessions'>
        return go(browser, 'DELETE', `/auth/sessions/${answer.data[0]!.id}`)
      },
    ],
    'PATCH /users/:id': [
      'user.blocked',
      async () => {
        const { id } = (await whoAmI(service, await signedIn('bad')))!
        return admin('PATCH', `/users/${id}`, { blocked: true })
      },
    ],
    'DELETE /users/:id': [
      'user.deleted',
      async () => {
        const { id } = (await whoAmI(service, await signedIn('gone')))!
        return admin('DELETE', `/users/${id}`)
      },
    ],
    'POST /providers/:name/check': ['provider.checked', () => admin('POST', '/providers/acme/check')],
    'DELETE /users/:id/sessions': [
      'session.revoked',
      async () => {
        const { id } = (await whoAmI(service, await signedIn('ended')))!
        return admin('DELETE', `/users/${id}/sessions`)
      },
    ],
    'DELETE /users/:id/sessions/:sessionId': [
      'session.revoked',
      async () => {
        const browser = await signedIn('ended-one')
        const { user, session } = (await (
          await go(browser, 'GET', '/auth/session')
        ).json()) as AnswerTo<'GET /auth/session'>
        return admin('DELETE', `/users/${user.id}/sessions/${session.id}`)
      },
    ],
    'DELETE /auth/identities/:provider': [
      'identity.unlinked',
      async () => {
        const browser = await signedIn('two')
        const start = await go(browser, 'POST', '/auth/other/link')
        provider.profile = { id: 'two-too' }
        const back = await browser.go(start.headers.get('location')!)
        await browser.go(back.headers.get('location')!)
        return go(browser, 'DELETE', '/auth/identities/other')
      },
    ],
  })

  test('each route that changes data writes an entry, or is an exception with a reason', async () => {
    const table = calls()
    // Demo mode's identity provider stands for another company's service and does not exist in production. Svix's API calls the same
    // functions as the routes here; test/emitting/svix/ checks its audit entries.
    const isOurs = (route: string): boolean => !/^(GET|HEAD|OPTIONS) | \/demo-idp\/|\/api\/v1\//.test(route)
    const changing = service.app.routeMethods.all().filter(isOurs)
    const known = [...Object.keys(table), ...Object.keys(exceptions)]
    assert.deepEqual([...new Set(changing)].toSorted(), known.toSorted())
    for (const [route, [action, call]] of Object.entries(table)) {
      const before = await last()
      const answer = await call()
      assert.ok(answer.status < 400, `${route}: ${answer.status} ${await answer.text()}`)
      const found = (await since(before)).findLast((row) => row.action === action)
      assert.ok(found, `${route} wrote no ${action}`)
      assert.ok(found.actor, `${route}: nobody did it`)
      assert.ok(found.address && found.support_id, `${route}: from nowhere`)
      assert.ok(found.target ?? found.user_id, `${route} is about nothing`)
      if (route.includes('/portal/')) assert.equal(found.actor, 'owner:acme', route)
      else if (!/ \/(auth|oauth2)\//.test(route)) assert.equal(found.actor, 'key:ADMIN_API_KEY', route)
    }
  })

  test('a changed subscriber: names of settings and origins, never a value that may be a secret', async () => {
    const { id } = await subscribe(service, { url: `${receiver.url}?token=one-secret` })
    const before = await last()
    const change = {
      url: 'https://new.example.com/hook?token=another-secret',
      headers: { 'x-key': 'third-secret' },
      eventTypes: ['order.*'],
      timeout: 5,
      status: 'paused',
    }
    await expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: change })
    await expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: { status: 'active' } })
    await expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: { status: 'active' } })
    const { secret } = await expectJson<AnswerTo<'PATCH /subscribers/{id}'>>(
      service,
      200,
      `/subscribers/${id}/rotate-secret`,
      {
        method: 'POST',
      },
    )
    await expectJson(service, 204, `/subscribers/${id}`, { method: 'DELETE' })
    const rows = await since(before)
    assert.deepEqual(
      fields(rows, 'action', 'target'),
      ['paused', 'changed', 'resumed', 'secret_rotated', 'deleted'].map((what) => [
        `subscriber.${what}`,
        `subscriber:${id}`,
      ]),
    )
    assert.deepEqual(JSON.parse(rows[1]!.detail!), {
      changed: 'url,eventTypes,timeoutSeconds,headers',
      oldOrigin: new URL(receiver.url).origin,
      newOrigin: 'https://new.example.com',
    })
    assert.doesNotMatch(JSON.stringify(rows), /-secret/)
    assert.ok(!JSON.stringify(rows).includes(secret!))
  })

  test('a refused call is not recorded as done', async () => {
    const { id } = await subscribe(service, { url: receiver.url })
    const before = await last()
    await expectJson(service, 400, `/subscribers/${id}`, { method: 'PATCH', json: { url: 'ftp://x' } })
    await expectJson(service, 404, '/deliveries/999999/replay', { method: 'POST' })
    assert.deepEqual(await since(before), [])
  })

  test('refused keys, links and calls are recorded with caller, address and reason; of many only the first', async () => {
    const before = await last()
    const key = await makeKey({ revoked_at: 1 })
    const withKey = (token: string, path = '/subscribers'): Promise<Response> =>
      service.fetch(path, { headers: { authorization: `Bearer ${token}` } })
    assert.equal((await withKey('pk_unknown_key_0000000000')).status, 401)
    assert.equal((await withKey(key.token)).status, 401)
    assert.equal((await withKey((await makeKey({ expires_at: 1 })).token)).status, 401)
    const weak = await makeKey({ scopes: 'events:write' })
    assert.equal((await withKey(weak.token)).status, 403)
    const token = await makeLink('spent')
    await open(token)
    assert.equal((await open(token)).status, 401)
    const browser = await signedIn('curious')
    assert.equal((await go(browser, 'GET', '/subscribers')).status, 403)
    const me = (await whoAmI(service, browser))!

    const refused = (await since(before)).filter(({ code }) => code !== null)
    assert.deepEqual(fields(refused, 'action', 'code'), [
      ['key.refused', 'unknown-key'],
      ['key.refused', 'revoked-key'],
      ['key.refused', 'expired-key'],
      ['call.forbidden', 'insufficient-scope'],
      ['portal.link_refused', 'unknown-or-expired-link'],
      ['call.forbidden', 'forbidden'],
    ])
    assert.equal(refused[1]!.target, `key:${key.id}`)
    assert.equal(refused[3]!.actor, `key:${weak.id}`)
    assert.equal(refused[5]!.actor, `user:${me.id}`)
    assert.ok(refused[5]!.session_id)
    assert.equal(refused[5]!.detail, '{"call":"GET /subscribers"}')
    assert.ok(refused.every(({ address, support_id }) => address && support_id))
    assert.doesNotMatch(JSON.stringify(refused), /pk_unknown|curious-token/)

    const then = await last()
    await Promise.all(Array.from({ length: 60 }, () => withKey('pk_unknown_key_0000000000')))
    const flood = await since(then)
    assert.ok(flood.length < 20, `${flood.length} entries of one address`)
  })

  test('a subscriber that the service disables has an entry', async () => {
    const gone = await startReceiver(410)
    const { id } = await subscribe(service, { url: gone.url, eventTypes: ['gone.test'] })
    await emit(service, { type: 'gone.test', data: {} })
    const row = await until(
      () =>
        service.database.reader
          .selectFrom('audit_log')
          .selectAll()
          .where('action', '=', 'subscriber.disabled')
          .where('target', '=', `subscriber:${id}`)
          .executeTakeFirst(),
      'it is disabled',
    )
    assert.equal(row.actor, 'service')
    await gone.close()
  })

  async function makeKey(change: object): Promise<{ id: string; token: string }> {
    const { database } = service
    const keys = new ApiKeys(database, systemClock, createRecordAudit(systemClock))
    const { id, key: token } = await keys.create({ name: 'test', scopes: ['admin'] }, { actor: 'test' })
    await database.transaction((tx) => tx.updateTable('api_keys').set(change).where('id', '=', id).execute())
    return { id, token }
  }
})

/** Products have an `id`, posts an `_id`. */
function idOf(item: unknown): string {
  const { id, _id } = item as { id?: string; _id?: string }
  return (id ?? _id)!
}
