// What chapters 5 and 6 of the tutorial let the reader do in a browser, with examples/shop.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { startProgram, type Program } from '../harness/program.ts'
import { programEnvironment } from '../examples/shop/programs.ts'
import { freePort, started, startReceiver, temporaryFolder } from '../harness/index.ts'
import { mainFile } from '../harness/main-file.ts'
import { launchBrowser, picture } from './browser.ts'

const folder = join(import.meta.dirname, '../../examples/shop')

describe('the shop of the tutorial', () => {
  const home = temporaryFolder()
  let env: Record<string, string>
  let base: string
  let shop: Program
  const complaints: string[] = []
  const receiver = started(() => startReceiver(204, 500, 204))
  const browser = started(launchBrowser)
  const page = started(() => browser.newPage({ viewport: { width: 1100, height: 800 } }))
  before(async () => {
    const port = String(await freePort())
    base = `http://127.0.0.1:${port}`
    env = {
      ...programEnvironment(home),
      PORT: port,
      BASE_URL: base,
      DATABASE_URL: `sqlite:${join(home, 'postern.db')}`,
      POSTERN_SECRET: 'the-master-secret-of-the-shop-0123456789',
      WEBHOOK_SECRET: 'a-webhook-secret-of-the-shop',
      STRIPE_WEBHOOK_SECRET: 'whsec_of_stripe_for_the_shop',
      EMIT_RETRY_SCHEDULE: '0,600',
    }
    env['SHOP_KEY'] = await postern('keys', 'create', 'shop', '--scope', 'subscribers:write')
    shop = startProgram([process.execPath, 'server.ts'], { cwd: folder, env })
    await shop.shows(/The shop is open/)
    page.on('pageerror', (error) => complaints.push(String(error)))
  })
  after(async () => {
    await shop?.stop()
  })

  async function postern(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [mainFile, ...args], { cwd: folder, env })
    return stdout.trim()
  }
  async function pay(id: string): Promise<void> {
    // The page fills the number in after it has loaded.
    const customer = await page.locator('#number:not(:empty)').innerText()
    const session = {
      id,
      client_reference_id: customer,
      amount_total: 1999,
      currency: 'eur',
      payment_status: 'paid',
    }
    const data = JSON.stringify(session)
    assert.match(await postern('trigger', 'stripe', 'checkout.session.completed', '--data', data), /^200/)
  }

  test('a customer signs in from the page, and comes back to it', async () => {
    await page.goto(base)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Continue with development provider' }).click()
    await page.getByText('Grace Hopper').click()
    await page.getByText('Hello Grace Hopper').waitFor()
    assert.equal(page.url(), `${base}/`)
    const buy = await page.getByRole('link', { name: 'Buy' }).getAttribute('href')
    assert.match(buy!, /^https:\/\/buy\.stripe\.com\/\S+\?client_reference_id=[\w-]{36}$/)
  })

  test('a paid order is on the page after a reload', async () => {
    await pay('cs_4')
    await page.reload()
    await page.getByText('cs_4: 19.99 eur').waitFor()
    await picture(page, 'shop')
  })

  test('the button Webhooks opens the portal, where an endpoint is added and tested', async () => {
    await page.getByRole('button', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    assert.match(await page.getByRole('dialog').locator('code').innerText(), /^whsec_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await receiver.waitFor(1)
  })

  test('a delivery that failed is sent by hand', async () => {
    const portal = page.url()
    await page.goto(base)
    await pay('cs_5')
    await receiver.waitFor(2)
    await page.goto(portal)
    const row = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr', { hasText: 'order.paid' })
    await row.getByRole('button', { name: 'order.paid' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('button', { name: 'Send now' }).click()
    await drawer.getByText('delivered', { exact: true }).first().waitFor()
    const [first, second] = receiver.calls.slice(1)
    assert.equal(first!.headers['webhook-id'], second!.headers['webhook-id'])
  })

  test('after the sign-out the page asks for a sign-in', async () => {
    await page.goto(base)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    assert.deepEqual(complaints, [])
  })
})
