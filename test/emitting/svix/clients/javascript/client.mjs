// Calls every operation with the library that SVIX_LIBRARY names: `svix`, or `svix-1` for its versions 1.x.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const { SVIX_LIBRARY, SVIX_URL, SVIX_TOKEN, SVIX_RECEIVER, SVIX_SECRET, SVIX_OPEN_SOURCE } = process.env
const { Svix } = await import(SVIX_LIBRARY)
const isFirst = SVIX_LIBRARY === 'svix-1'
const svix = new Svix(SVIX_TOKEN, { serverUrl: SVIX_URL })
const uid = `js-${isFirst ? 1 : 2}-${process.pid}`
const hourAgo = new Date(Date.now() - 3_600_000)

const fails = (promise, code, check = () => true) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.code, code, error)
    return check(error.body)
  })
const until = async (read, isDone) => {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await read()
    if (isDone(answer)) return answer
    await sleep(50)
  }
  throw new Error('not within 30 seconds')
}

async function applications() {
  await svix.health.get()
  const app = await svix.application.create(
    { name: 'Application', uid, metadata: { plan: 'pro' } },
    { idempotencyKey: `${uid}-app` },
  )
  assert.equal(
    (
      await svix.application.create(
        { name: 'Application', uid, metadata: { plan: 'pro' } },
        { idempotencyKey: `${uid}-app` },
      )
    ).id,
    app.id,
  )
  assert.ok(app.createdAt instanceof Date && app.id.startsWith('app_'))
  assert.equal((await svix.application.getOrCreate({ name: 'Again', uid })).id, app.id)
  await fails(svix.application.create({ name: 'Again', uid }), 409, (body) => body.code === 'conflict')
  await fails(svix.application.create({ name: '' }), 422, (body) => body.detail[0].loc[1] === 'name')
  await fails(svix.application.get('missing'), 404, (body) => body.code === 'not_found')
  await fails(
    new Svix('wrong', { serverUrl: SVIX_URL }).application.list(),
    401,
    (body) => body.code === 'authentication_failed',
  )
  assert.deepEqual((await svix.application.get(uid)).metadata, { plan: 'pro' })
  const upsert = isFirst ? 'update' : 'upsert'
  assert.equal((await svix.application[upsert](uid, { name: 'Changed', uid })).name, 'Changed')
  assert.equal((await svix.application.patch(uid, { metadata: { a: 'b' } })).metadata.a, 'b')
  const other = await svix.application[upsert](`${uid}-2`, { name: 'Other', uid: `${uid}-2` })
  const seen = []
  let page
  do {
    page = await svix.application.list({ limit: 1, iterator: page?.iterator, order: 'descending' })
    seen.push(...page.data.map(({ id }) => id))
  } while (!page.done && !seen.includes(app.id))
  assert.ok(seen.includes(app.id) && seen.includes(other.id))
  await svix.application.delete(other.id)
  await fails(svix.application.get(other.id), 404)
  return app
}

async function eventTypes() {
  const name = `${uid}.created`
  const schema = { type: 'object', properties: { n: { type: 'integer' } } }
  const type = await svix.eventType.create({ name, description: 'Created', schemas: { 1: schema } })
  assert.deepEqual([type.name, type.schemas['1']], [name, schema])
  await fails(
    svix.eventType.create({ name, description: 'Twice' }),
    409,
    (body) => body.code === 'event_type_exists',
  )
  assert.equal((await svix.eventType.get(name)).description, 'Created')
  assert.equal(
    (await svix.eventType[isFirst ? 'update' : 'upsert'](name, { description: 'Changed' })).description,
    'Changed',
  )
  assert.equal((await svix.eventType.patch(name, { deprecated: true })).deprecated, true)
  assert.ok(
    (await svix.eventType.list({ limit: 250, withContent: true })).data.some((one) => one.name === name),
  )
  const old = `${uid}.old`
  await svix.eventType.create({ name: old, description: 'Old' })
  await svix.eventType.delete(old)
  assert.equal((await svix.eventType.get(old)).archived, true)
  await svix.eventType.delete(old, { expunge: true })
  await fails(svix.eventType.get(old), 404)
  return name
}

async function endpoints(app, type) {
  const given = {
    url: `${SVIX_RECEIVER}/javascript`,
    secret: SVIX_SECRET,
    uid: 'main',
    description: 'Main',
    metadata: { team: 'a' },
  }
  const types = isFirst ? 'filterTypes' : 'eventTypes'
  const endpoint = await svix.endpoint.create(app.id, {
    ...given,
    channels: ['room'],
    [types]: [type],
    [isFirst ? 'rateLimit' : 'throttleRate']: 500,
  })
  assert.deepEqual(
    [endpoint.channels, endpoint[types], endpoint.metadata, endpoint.uid],
    [['room'], [type], { team: 'a' }, 'main'],
  )
  assert.equal(endpoint[isFirst ? 'rateLimit' : 'throttleRate'], 500)
  if (isFirst) assert.equal(endpoint.version, 1)
  await fails(svix.endpoint.create(app.id, { url: 'nonsense' }), 422)
  await fails(svix.endpoint.create(app.id, given), 409)
  assert.equal((await svix.endpoint.get(uid, 'main')).id, endpoint.id)
  const upsert = isFirst ? 'update' : 'upsert'
  assert.equal(
    (await svix.endpoint[upsert](app.id, endpoint.id, { url: given.url, uid: 'main', description: 'Put' }))
      .description,
    'Put',
  )
  assert.deepEqual((await svix.endpoint.patch(app.id, endpoint.id, { [types]: [type] }))[types], [type])
  assert.equal((await svix.endpoint.list(app.id, { limit: 10 })).data[0].id, endpoint.id)
  assert.equal((await svix.endpoint.getSecret(app.id, endpoint.id)).key, SVIX_SECRET)
  const spare = await svix.endpoint.create(app.id, { url: `${SVIX_RECEIVER}/spare`, disabled: true })
  await svix.endpoint.rotateSecret(app.id, spare.id, { key: SVIX_SECRET })
  assert.equal((await svix.endpoint.getSecret(app.id, spare.id)).key, SVIX_SECRET)
  await svix.endpoint[isFirst ? 'updateHeaders' : 'setHeaders'](app.id, endpoint.id, {
    headers: { 'x-team': 'blue', 'x-old': '1', authorization: 'Bearer t' },
  })
  await svix.endpoint.patchHeaders(app.id, endpoint.id, { headers: { 'x-old': null, 'x-new': '2' } })
  const { headers, sensitive } = await svix.endpoint.getHeaders(app.id, endpoint.id)
  assert.deepEqual([headers, sensitive], [{ 'x-team': 'blue', 'x-new': '2' }, ['authorization']])
  await svix.endpoint.delete(app.id, spare.id)
  await fails(svix.endpoint.get(app.id, spare.id), 404)
  return endpoint
}

async function messages(app, type) {
  const message = { eventType: type, payload: { n: 1 }, channels: ['room'] }
  const first = await svix.message.create(app.id, {
    ...message,
    eventId: `${uid}-1`,
    payloadRetentionPeriod: 5,
  })
  assert.deepEqual([first.eventType, first.eventId, first.channels], [type, `${uid}-1`, ['room']])
  await fails(svix.message.create(app.id, { ...message, eventId: `${uid}-1` }), 409)
  await fails(svix.message.create(app.id, { eventType: 'not allowed', payload: {} }), 422)
  const second = await svix.message.create(uid, message, { idempotencyKey: `${uid}-2` })
  assert.equal((await svix.message.create(uid, message, { idempotencyKey: `${uid}-2` })).id, second.id)
  assert.equal((await svix.message.get(app.id, `${uid}-1`)).id, first.id)
  assert.deepEqual((await svix.message.get(app.id, first.id, { withContent: false })).payload, {})
  assert.deepEqual((await svix.message.get(app.id, first.id, { withContent: true })).payload, { n: 1 })
  const { data } = await svix.message.list(app.id, { eventTypes: [type], channel: 'room', after: hourAgo })
  assert.deepEqual(
    data.map(({ id }) => id),
    [second.id, first.id],
  )
  return first
}

async function attempts(app, endpoint, message, type) {
  const read = () =>
    svix.messageAttempt.listByMsg(app.id, message.id, {
      endpointId: endpoint.id,
      status: 0,
      withContent: true,
    })
  const {
    data: [attempt],
  } = await until(read, ({ data }) => data.length > 0)
  assert.deepEqual([attempt.status, attempt.responseStatusCode, attempt.response], [0, 200, '{"ok":true}'])
  const byEndpoint = await until(
    () => svix.messageAttempt.listByEndpoint(app.id, endpoint.id, { eventTypes: [type] }),
    ({ data }) => data.length === 2,
  )
  assert.ok(byEndpoint.data.some(({ id }) => id === attempt.id))
  assert.equal((await svix.messageAttempt.get(app.id, message.id, attempt.id)).msgId, message.id)
  assert.equal((await svix.messageAttempt.listAttemptedMessages(app.id, endpoint.id)).data.length, 2)
  assert.equal(
    (await svix.messageAttempt.listAttemptedDestinations(app.id, message.id)).data[0].id,
    endpoint.id,
  )
  await svix.messageAttempt.resend(app.id, message.id, endpoint.id)
  await until(read, ({ data }) => data.length === 2)
  assert.equal((await svix.endpoint.getStats(app.id, endpoint.id, { since: hourAgo })).fail, 0)
  const task = await svix.endpoint.recover(app.id, endpoint.id, { since: hourAgo })
  assert.ok(task.id.startsWith('qtask_'))
  assert.equal(
    (await svix.endpoint.sendExample(app.id, endpoint.id, { eventType: 'svix.ping' })).eventType,
    'svix.ping',
  )
  await svix.messageAttempt.expungeContent(app.id, message.id, attempt.id)
  await svix.message.expungeContent(app.id, message.id)
  assert.deepEqual((await svix.message.get(app.id, message.id, { withContent: true })).payload, {
    expired: true,
  })
  return task
}

async function portal(app) {
  const access = await svix.authentication.appPortalAccess(app.id, { featureFlags: ['beta'] })
  assert.ok(new URL(access.url))
  const own = new Svix(access.token, { serverUrl: SVIX_URL })
  assert.equal((await own.endpoint.list(app.id)).data.length, 1)
  await fails(own.application.list(), 403)
  if (SVIX_OPEN_SOURCE) return
  await own.authentication.logout()
  await fails(own.endpoint.list(app.id), 401)
}

/** What the open-source server has no route for. */
async function beyond(app, endpoint, task, type) {
  const done = await until(
    () => svix.backgroundTask.get(task.id),
    ({ status }) => status !== 'running',
  )
  assert.equal(done.status, 'finished')
  assert.ok(
    (await svix.backgroundTask.list({ task: 'endpoint.recover' })).data.some(({ id }) => id === task.id),
  )
  assert.ok((await svix.endpoint.replayMissing(app.id, endpoint.id, { since: hourAgo })).id)
  if (svix.endpoint.bulkReplay)
    assert.ok(
      (await svix.endpoint.bulkReplay(app.id, endpoint.id, { since: hourAgo, eventTypes: [type] })).id,
    )
  assert.equal((await svix.message.precheck(app.id, { eventType: type })).active, true)
  assert.ok((await svix.statistics.aggregateAppStats({ since: hourAgo, until: new Date() })).id)
  assert.ok((await svix.statistics.aggregateEventTypes()).id)
  const exported = await svix.environment.export()
  assert.ok(exported.eventTypes.some(({ name }) => name === type))
  await svix.environment.import({
    eventTypes: [{ name: `${uid}.imported`, description: 'Imported' }],
    connectors: [],
    settings: undefined,
  })
  const openapi = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    webhooks: {
      [`${uid}.webhook`]: {
        post: {
          description: 'By OpenAPI',
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        },
      },
    },
  }
  const imported = await svix.eventType.importOpenapi({ spec: openapi })
  assert.deepEqual(imported.data.modified, [`${uid}.webhook`])
  if (isFirst) {
    await svix.endpoint.patchTransformation(app.id, endpoint.id, {
      code: 'function handler(webhook) { return webhook }',
      enabled: true,
    })
    assert.equal((await svix.endpoint.transformationGet(app.id, endpoint.id)).enabled, true)
  } else {
    await svix.endpoint.transformation.patch(app.id, endpoint.id, {
      code: 'function handler(webhook) { return webhook }',
      enabled: true,
    })
    assert.equal((await svix.endpoint.transformation.get(app.id, endpoint.id)).enabled, true)
  }
  await svix.authentication.expireAll(app.id)
  await fails(svix.integration.list(app.id), 404, (body) => body.code === 'not_implemented')
}

const app = await applications()
const type = await eventTypes()
const endpoint = await endpoints(app, type)
const message = await messages(app, type)
const task = await attempts(app, endpoint, message, type)
await portal(app)
if (!SVIX_OPEN_SOURCE) await beyond(app, endpoint, task, type)
await svix.application.delete(app.id)
await fails(svix.endpoint.list(app.id), 404)
