// examples/shop, the finished product of docs/tutorial.md, as real processes.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { Browser, fields, freePort, type Receiver, startReceiver, temporaryFolder } from '../harness/index.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'
import { mainFile } from '../harness/main-file.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { verifyWebhook } from '../../packages/client/src/webhooks.ts'
import { eventually } from '../receiving/harness.ts'
import { type Program, startProgram } from '../harness/program.ts'
import { addEndpoint, programEnvironment, signIn } from './shop/programs.ts'

const folder = join(import.meta.dirname, '../../examples/shop')
const key = 'pk_the_key_of_the_administrator_0'
const stripeSecret = 'whsec_of_stripe_for_the_shop'

onEachEngine('examples/shop', (engine) => {
  const home = temporaryFolder()
  let database: TestDatabase
  let env: Record<string, string>
  let base: string
  let shop: Program
  let receiver: Receiver
  before(async () => {
    database = await engine.createDatabase()
    receiver = await startReceiver()
    const port = String(await freePort())
    base = `http://127.0.0.1:${port}`
    env = {
      ...programEnvironment(home),
      PORT: port,
      DATABASE_URL: database.url,
      POSTERN_SECRET: 'the-master-secret-of-the-shop-0123456789',
      WEBHOOK_SECRET: 'a-webhook-secret-of-the-shop',
      STRIPE_WEBHOOK_SECRET: stripeSecret,
      ADMIN_API_KEY: key,
    }
    const create = [mainFile, 'keys', 'create', 'shop', '--scope', 'subscribers:write']
    const { stdout } = await promisify(execFile)(process.execPath, create, { cwd: home, env })
    env['SHOP_KEY'] = stdout.trim()
    shop = startProgram([process.execPath, 'server.ts'], { cwd: folder, env })
    await shop.shows(/The shop is open/)
  })
  after(async () => {
    await shop.stop()
    await receiver.close()
    await database.drop()
  })

  const pay = (session: object, id: string): Promise<Response> => {
    const { body, headers } = samples['stripe']!({
      type: 'checkout.session.completed',
      secret: stripeSecret,
      id,
      now: Date.now(),
      data: { amount_total: 4200, currency: 'eur', payment_status: 'paid', ...session },
    })
    return fetch(`${base}/webhooks/stripe`, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
    })
  }
  const read = async (path: string, headers: Record<string, string> = {}): Promise<Page> =>
    (await (await fetch(base + path, { headers })).json()) as Page
  const asAdmin = { authorization: `Bearer ${key}` }

  test('the page is that of the shop, and its calls need a sign-in', async () => {
    assert.match(await (await fetch(base)).text(), /<title>Shop<\/title>/)
    assert.equal((await fetch(`${base}/portal-link`, { method: 'POST' })).status, 401)
    assert.equal((await fetch(`${base}/my-orders`)).status, 401)
    assert.equal((await fetch(`${base}/orders`)).status, 401)
  })

  test("a payment that Stripe reports five times is one order, and one webhook to the customer's server", async () => {
    const grace = new Browser()
    const customer = await signIn(grace, base, 'grace')
    const secret = await addEndpoint(grace, base, receiver.url)
    for (let time = 0; time < 5; time++)
      assert.equal((await pay({ id: 'cs_1', client_reference_id: customer }, 'evt_1')).status, 200)
    const [call] = await receiver.waitFor(1)
    const event = await verifyWebhook(call!.body, { headers: call!.headers }, secret)
    assert.equal(event.type, 'order.paid')
    assert.deepEqual(event.data, { order: 'cs_1', amount: 4200, currency: 'eur' })

    // Another customer's order, and a second event about the same payment.
    assert.equal((await pay({ id: 'cs_2', client_reference_id: 'somebody' }, 'evt_2')).status, 200)
    assert.equal((await pay({ id: 'cs_1', client_reference_id: customer }, 'evt_3')).status, 200)
    await eventually(async () => {
      const { data } = await read('/events?direction=received', asAdmin)
      return data.length === 3 && data.every(({ status }) => status === 'processed')
    }, 'all are processed')
    const { data } = (await (await grace.go(`${base}/my-orders`)).json()) as Page
    assert.deepEqual(fields(data, 'id', 'amount', 'customer'), [['cs_1', 4200, undefined]])
    assert.equal(receiver.calls.length, 1)
  })

  test("the shop's people read all orders, by filter and cursor", async () => {
    const first = await read('/orders?limit=1', asAdmin)
    assert.deepEqual(idsOf(first), ['cs_2'])
    const cursor = encodeURIComponent(first.pageInfo.nextCursor!)
    assert.deepEqual(idsOf(await read(`/orders?limit=1&cursor=${cursor}`, asAdmin)), ['cs_1'])
    assert.deepEqual(idsOf(await read('/orders?customer=somebody', asAdmin)), ['cs_2'])
    assert.deepEqual(idsOf(await read('/orders?minAmount=4201', asAdmin)), [])
    assert.equal((await fetch(`${base}/orders?cursor=abc`, { headers: asAdmin })).status, 400)
  })

  test('a forged webhook is refused', async () => {
    const forged = { 'content-type': 'application/json', 'stripe-signature': 't=1,v1=00' }
    const response = await fetch(`${base}/webhooks/stripe`, { method: 'POST', body: '{}', headers: forged })
    assert.equal(response.status, 401)
  })

  test('its own test passes', async () => {
    const ended = await promisify(execFile)(process.execPath, ['--test', 'shop.test.ts'], {
      cwd: folder,
      env: programEnvironment(home),
    }).catch((error: { stdout: string }) => error)
    assert.match(ended.stdout, /pass 2\n/)
    assert.match(ended.stdout, /fail 0\n/)
  })

  test('it stops cleanly, and goes on after the next start', async () => {
    assert.equal(await shop.stop(), 0)
    shop = startProgram([process.execPath, 'server.ts'], { cwd: folder, env })
    await shop.shows(/The shop is open/)
    assert.deepEqual(idsOf(await read('/orders', asAdmin)), ['cs_2', 'cs_1'])
  })
})

interface Page {
  data: { id: string; amount: number; customer?: string; status?: string }[]
  pageInfo: { nextCursor: string | null }
}

const idsOf = ({ data }: Page): string[] => data.map(({ id }) => id)
