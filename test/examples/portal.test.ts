// examples/portal: a product of two tenants beside the service, as its README says.
import '../client/use-source.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadConfigModule } from '../../src/config/module.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { bundleClient } from '../client/bundle.ts'
import { startEmitting } from '../emitting/harness.ts'
import { adminKey, freePort, onEachEngine, temporaryFolder, type TestService } from '../harness/index.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import type { AnswerTo } from '../harness/answers.ts'

// Static imports would be resolved before those of use-source.ts are.
const { verifyWebhook } = await import('postern-client/webhooks')
const { createProduct } = await import('../../examples/portal/product.ts')
const { createWebhooks } = await import('../../examples/portal/webhooks.ts')
const config = (await loadConfigModule<PosternConfig>('examples/portal/postern.config.ts'))!

interface Person {
  /** A call of the product with the person's cookie. */
  product(path: string, init?: RequestInit): Promise<Response>
  /** A call of the portal, which the person opened on the product's page. */
  portal(method: string, path: string, json?: object): Promise<Response>
}

type Subscriber = AnswerTo<'POST /subscribers'>

onEachEngine('examples/portal', (engine) => {
  let service: TestService
  let product: Server
  let origin: string
  let ann: Person
  let bob: Person
  let receivers: { acme: Receiver; globex: Receiver }
  const clientFolder = temporaryFolder()

  before(async () => {
    // As the compiled package has it.
    mkdirSync(join(clientFolder, 'browser'))
    writeFileSync(join(clientFolder, 'browser/index.js'), await bundleClient('browser/index.ts'))
    // The setting needs the product's address, and the product needs the service's.
    const port = await freePort()
    origin = `http://localhost:${port}`
    service = await startEmitting(engine, { config, env: { PORTAL_FRAME_ORIGINS: origin } })
    product = createProduct({ webhooks: createWebhooks(service.baseUrl, adminKey), clientFolder })
    await once(product.listen(port, 'localhost'), 'listening')
    receivers = { acme: await startReceiver(), globex: await startReceiver() }
    ;[ann, bob] = await Promise.all([enter('ann'), enter('bob')])
  })
  after(async () => {
    await service.close()
    await Promise.all(Object.values(receivers).map((receiver) => receiver.close()))
    product.closeAllConnections()
    product.close()
  })

  const body = (json: object): RequestInit => ({
    body: JSON.stringify(json),
    headers: { 'content-type': 'application/json' },
  })

  /** Signs in to the product, and opens the portal as the frame on its page does. */
  async function enter(person: string): Promise<Person> {
    const signedIn = await fetch(`${origin}/sign-in?person=${person}`, { method: 'POST', redirect: 'manual' })
    const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
    const product: Person['product'] = (path, init) =>
      fetch(`${origin}${path}`, { ...init, headers: { cookie } })
    const link = await (await product('/api/portal-link', { method: 'POST' })).text()
    const session = await service.fetch('/portal/session', {
      method: 'POST',
      ...body({ token: link.split('#')[1], embedded: true }),
    })
    assert.equal(session.status, 200)
    const { accessToken } = (await session.json()) as { accessToken: string }
    const authorization = `Bearer ${accessToken}`
    return {
      product,
      portal: (method, path, json) =>
        service.fetch(`/portal${path}`, {
          method,
          headers: { authorization, ...(json && { 'content-type': 'application/json' }) },
          ...(json && { body: JSON.stringify(json) }),
        }),
    }
  }

  const register = async (person: Person, url: string): Promise<Subscriber> => {
    const answer = await person.portal('POST', '/subscribers', { url })
    assert.equal(answer.status, 201)
    return (await answer.json()) as Subscriber
  }
  const urls = async (person: Person): Promise<string[]> => {
    const { data } = (await (
      await person.portal('GET', '/subscribers')
    ).json()) as AnswerTo<'GET /subscribers'>
    return data.map(({ url }) => url)
  }

  test('the page shows the portal to those who are signed in, with files that exist', async () => {
    const page = await (await ann.product('/')).text()
    assert.match(page, /You work for acme/)
    for (const [, path = ''] of page.matchAll(/"(\/[\w/-]+\.js)"/g)) {
      const file = await ann.product(path)
      assert.equal(file.status, 200, path)
      assert.match(await file.text(), /embedPortal/, path)
    }
    const signedOut = await fetch(origin)
    assert.match(await signedOut.text(), /Sign in as ann/)
  })

  test("only the product's pages may show the portal in a frame", async () => {
    const policy = (await service.fetch('/portal')).headers.get('content-security-policy')!
    assert.match(policy, new RegExp(`frame-ancestors ${origin}(;|$)`))
  })

  test('nobody gets a link without a session of the product', async () => {
    assert.equal((await fetch(`${origin}/api/portal-link`, { method: 'POST' })).status, 401)
    assert.equal((await fetch(`${origin}/sign-in?person=eve`, { method: 'POST' })).status, 404)
  })

  test('a tenant gets its own events, signed, and sees nothing of the other tenant', async () => {
    const ours = await register(ann, receivers.acme.url)
    const theirs = await register(bob, receivers.globex.url)
    assert.deepEqual([await urls(ann), await urls(bob)], [[receivers.acme.url], [receivers.globex.url]])

    const parcel = await (await ann.product('/api/parcels', { method: 'POST' })).text()
    const [call] = await receivers.acme.waitFor(1)
    const event = await verifyWebhook<object>(
      call!.body,
      new Headers(call!.headers as Record<string, string>),
      [ours.secret!],
    )
    assert.equal(event.type, 'parcel.sent')
    assert.deepEqual(event.data, { parcel, carrier: 'DHL' })

    const log = (await (
      await ann.portal('GET', `/subscribers/${ours.id}/deliveries`)
    ).json()) as AnswerTo<'GET /deliveries'>
    assert.equal(log.data.length, 1)
    assert.equal((await bob.portal('GET', `/deliveries/${log.data[0]!.id}`)).status, 404)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/deliveries'],
      ['PATCH', ''],
      ['POST', '/rotate-secret'],
      ['DELETE', ''],
    ] as const) {
      const json = method === 'PATCH' || method === 'POST' ? {} : undefined
      const answer = await ann.portal(method, `/subscribers/${theirs.id}${path}`, json)
      assert.equal(answer.status, 404, `${method} ${path}`)
    }
    assert.equal(receivers.globex.calls.length, 0)
  })

  test('the same event twice is one delivery', async () => {
    const webhooks = createWebhooks(service.baseUrl, adminKey)
    const before = receivers.globex.calls.length
    await webhooks.parcelSent('globex', 'p_twice', 'DHL')
    await webhooks.parcelSent('globex', 'p_twice', 'DHL')
    await webhooks.parcelSent('globex', 'p_last', 'DHL')
    const calls = await receivers.globex.waitFor(before + 2)
    const ids = calls.map(({ headers }) => String(headers['webhook-id']))
    assert.deepEqual(ids.toSorted(), ['p_last-sent', 'p_twice-sent'])
  })
})
