// Chapter 7 of the tutorial: examples/shop in production, with its settings, behind its Caddyfile. Needs the binary `caddy`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseEnv } from 'node:util'
import { inspectEnvironment } from '../../src/config/environment.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { type Answer, ask, host, type Proxy, proxyKinds, startProxy } from '../deploy/proxies.ts'
import { engines, freePort, temporaryFolder, type TestDatabase } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { type Program, startProgram } from '../harness/program.ts'
import { programEnvironment } from './shop/programs.ts'

const folder = join(import.meta.dirname, '../../examples/shop')
const settings = parseEnv(readFileSync(join(folder, 'deploy/shop.env'), 'utf8'))
const engine = engines.at(-1)!

test('the settings are refused without secrets, and complete with them', () => {
  const faults = inspectEnvironment(settings).faults.map((fault) => fault.split(' ')[0])
  assert.deepEqual(faults, ['POSTERN_SECRET', 'WEBHOOK_SECRET'])
})

const caddy = proxyKinds.find(({ name }) => name === 'caddy')!
/** The Caddyfile with a certificate, a port and the address of this run. */
const ofShop: typeof caddy = {
  ...caddy,
  file: 'examples/shop/deploy/Caddyfile',
  adapt(file, { folder: own, port, upstreams }) {
    const ports = `{\n https_port ${port}\n auto_https disable_redirects\n default_bind 127.0.0.1\n admin off\n}\n`
    const site = `${host} {\n tls ${own}/cert.pem ${own}/key.pem\n`
    return ports + file.replace('shop.example.com {\n', site).replace('127.0.0.1:3000', upstreams[0])
  },
}

describe('the shop in production', { skip: caddy.installed ? false : 'caddy is not installed' }, () => {
  const home = temporaryFolder()
  const stripeSecret = 'whsec_of_stripe_for_the_shop'
  let database: TestDatabase
  let env: Record<string, string>
  let shop: Program
  let proxy: Proxy
  before(async () => {
    database = await engine.createDatabase()
    const port = String(await freePort())
    env = {
      ...programEnvironment(home),
      ...(settings as Record<string, string>),
      BASE_URL: `https://${host}`,
      DATABASE_URL: database.url,
      PORT: port,
      POSTERN_SECRET: 'iP0dJq3mZt8vR5xN2cK7wL4yB9hF6sGa1eUoTzQkXnM=',
      WEBHOOK_SECRET: 'a-webhook-secret-of-the-shop-0123',
      STRIPE_WEBHOOK_SECRET: stripeSecret,
      GOOGLE_CLIENT_ID: '1.apps.googleusercontent.com',
      GOOGLE_CLIENT_SECRET: 'GOCSPX-the-secret-of-google',
    }
    await start()
    proxy = await startProxy(ofShop, [`127.0.0.1:${port}`, ''])
  })
  after(async () => {
    await proxy.close()
    await shop.stop()
    await database.drop()
  })

  async function start(): Promise<void> {
    shop = startProgram([process.execPath, 'server.ts'], { cwd: folder, env })
    await shop.shows(/The shop is open/)
  }
  const ready = (): Promise<boolean> =>
    eventually(async () => (await ask(proxy, '/readyz')).status === 200, 'it is ready')

  test('it is reached by TLS, signs in with Google only, and shows no list to strangers', async () => {
    await ready()
    assert.match((await ask(proxy, '/')).body, /<title>Shop<\/title>/)
    const login = await ask(proxy, '/login')
    assert.match(login.body, /Continue with Google/)
    assert.doesNotMatch(login.body, /development provider/)
    for (const path of ['/orders', '/my-orders', '/events'])
      assert.equal((await ask(proxy, path)).status, 401, path)
  })

  test("while it restarts, pages wait, and Stripe's next attempt is accepted", async () => {
    const { body, headers } = samples['stripe']!({
      type: 'checkout.session.completed',
      secret: stripeSecret,
      id: 'evt_1',
      now: Date.now(),
      data: {
        id: 'cs_1',
        client_reference_id: 'a',
        amount_total: 1,
        currency: 'eur',
        payment_status: 'paid',
      },
    })
    const send = (): Promise<Answer> =>
      ask(proxy, '/webhooks/stripe', {
        method: 'POST',
        body,
        headers: { ...headers, 'content-type': 'application/json' },
      })
    assert.equal(await shop.stop(), 0)
    const page = ask(proxy, '/login')
    const webhook = send()
    await start()
    assert.equal((await page).status, 200)
    // Caddy 2.6.2 cannot repeat a body, if it has tried already to send it.
    assert.ok([200, 502, 503].includes((await webhook).status))
    await eventually(async () => (await send()).body === '{"received":true}', 'the webhook is accepted')
  })
})
