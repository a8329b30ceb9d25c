// examples/cells: two services behind HAProxy, run as its README says. Needs the binary `haproxy`.
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { after, before, describe, test } from 'node:test'
import { loadConfigModule } from '../../src/config/module.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { adminKey, engines, freePort, startTestService, type TestService } from '../harness/index.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { eventually, sign } from '../receiving/harness.ts'

const folder = fileURLToPath(new URL('../../examples/cells', import.meta.url))
const secrets = { shop: 'secret-of-the-shop', billing: 'secret-of-the-billing' }
const installed = spawnSync('haproxy', ['-v']).status === 0

describe('examples/cells', { skip: installed ? false : 'haproxy is not installed' }, () => {
  const cells: TestService[] = []
  let receiver: Receiver
  let router: ChildProcess
  let gate: string

  before(async () => {
    process.env['SHOP_SECRET'] = secrets.shop
    process.env['BILLING_SECRET'] = secrets.billing
    const config = (await loadConfigModule<PosternConfig>('examples/cells/postern.config.ts'))!
    for (let cell = 0; cell < 2; cell += 1)
      cells.push(await startTestService(engines[cell % engines.length]!, { config }))
    receiver = await startReceiver()
    gate = `127.0.0.1:${await freePort()}`
    const addresses = { CELL_1: new URL(cells[0]!.baseUrl).host, CELL_2: new URL(cells[1]!.baseUrl).host }
    router = spawn('haproxy', ['-f', 'haproxy.cfg'], {
      cwd: folder,
      env: { ...process.env, GATE: gate, ...addresses },
      stdio: 'ignore',
    })
    await eventually(async () => (await ask('/readyz').catch(() => undefined))?.status === 200, 'the router')
  })
  after(async () => {
    if (router.exitCode === null) {
      router.kill('SIGKILL')
      await once(router, 'exit')
    }
    await Promise.all([...cells.map((cell) => cell.close()), receiver.close()])
  })

  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://${gate}${path}`, init)
  const send = (source: keyof typeof secrets, id: string): Promise<Response> => {
    const body = JSON.stringify({ id, type: 'paid' })
    const headers = { 'content-type': 'application/json', 'x-signature': sign(body, secrets[source]) }
    return ask(`/webhooks/${source}`, { method: 'POST', body, headers })
  }
  /** A call of the product about one of its tenants. */
  const call = (owner: string, path: string, json: object): Promise<Response> =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify(json),
      headers: {
        authorization: `Bearer ${adminKey}`,
        'content-type': 'application/json',
        'postern-owner': owner,
      },
    })
  /** The router takes a cell of a busy machine for down, until it answers within a second again. What it refuses reaches no cell. */
  const reaching = (ask: () => Promise<Response>): Promise<Response> =>
    eventually(async () => {
      const answer = await ask()
      return answer.status === 503 ? undefined : answer
    }, 'the cell is up for the router')
  const idsIn = async (cell: TestService): Promise<string[]> => {
    const { data } = (await (await cell.admin('/events')).json()) as { data: { eventId: string }[] }
    return data.map(({ eventId }) => eventId)
  }

  test('a webhook is routed to the cell of its source', async () => {
    assert.equal((await reaching(() => send('shop', 'evt_shop'))).status, 200)
    assert.equal((await reaching(() => send('billing', 'evt_billing'))).status, 200)
    assert.deepEqual([await idsIn(cells[0]!), await idsIn(cells[1]!)], [['evt_shop'], ['evt_billing']])
  })

  test("a tenant's subscribers and events are in its cell, and are delivered from there", async () => {
    for (const owner of ['acme', 'globex']) {
      const subscriber = { url: receiver.url, owner }
      assert.equal((await reaching(() => call(owner, '/subscribers', subscriber))).status, 201)
      const event = { id: `to_${owner}`, type: 'invoice.created', audience: owner, data: { owner } }
      assert.equal((await reaching(() => call(owner, '/events', event))).status, 202)
    }
    const calls = await receiver.waitFor(2)
    const owners = calls.map(
      ({ body }) => (JSON.parse(body.toString()) as { data: { owner: string } }).data.owner,
    )
    assert.deepEqual(owners.toSorted(), ['acme', 'globex'])
    assert.ok((await idsIn(cells[0]!)).includes('to_acme') && !(await idsIn(cells[0]!)).includes('to_globex'))
    assert.ok((await idsIn(cells[1]!)).includes('to_globex') && !(await idsIn(cells[1]!)).includes('to_acme'))
  })

  test('an owner without a cell is refused, and nothing is stored', async () => {
    const answer = await call('unknown', '/events', { id: 'lost', type: 'a', audience: 'unknown', data: {} })
    assert.equal(answer.status, 421)
    assert.equal(((await answer.json()) as { code: string }).code, 'unknown-owner')
    for (const cell of cells) assert.ok(!(await idsIn(cell)).includes('lost'))
  })

  test('a cell that is down affects only its own sources and tenants', async () => {
    await cells[1]!.stop(5_000)
    await eventually(async () => (await send('billing', 'evt_down')).status === 503, 'the router knows')
    assert.equal((await reaching(() => send('shop', 'evt_alone'))).status, 200)
    assert.equal((await call('globex', '/events', { type: 'a', audience: 'globex', data: {} })).status, 503)
    const toAcme = () => call('acme', '/events', { type: 'a', audience: 'acme', data: {} })
    assert.equal((await reaching(toAcme)).status, 202)
  })
})
