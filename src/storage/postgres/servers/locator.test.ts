import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress, type SessionAttributes } from './address.ts'
import { Locator, type ServerState } from './locator.ts'

const primary: ServerState = { recovering: false, readOnly: false }
const standby: ServerState = { recovering: true, readOnly: true }
const withoutWrites: ServerState = { recovering: false, readOnly: true }

/** Servers by port: `silent` never answers, others refuse the connection. */
function locate(
  ports: readonly number[],
  wanted: SessionAttributes,
  servers: Readonly<Record<number, ServerState | 'silent'>>,
) {
  const asked: number[] = []
  const stopped: number[] = []
  const address = parseAddress(`postgres://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/db`)
  const locator = new Locator(
    address,
    wanted,
    async ({ host: { port } }, signal) => {
      asked.push(port)
      const server = servers[port]
      if (server === undefined) throw new Error('refused')
      if (server !== 'silent') return server
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          stopped.push(port)
          reject(new Error('stopped'))
        })
      })
    },
    60_000,
  )
  return { locator, asked, stopped, port: async () => (await locator.find()).place.host.port }
}

test('the first server in the wanted state, in order', async () => {
  const servers = { 2: standby, 3: withoutWrites, 4: primary, 5: primary }
  const found = async (wanted: SessionAttributes) => locate([1, 2, 3, 4, 5], wanted, servers).port()
  assert.equal(await found('any'), 2)
  assert.equal(await found('read-write'), 4)
  assert.equal(await found('read-only'), 2)
  assert.equal(await found('primary'), 3)
  assert.equal(await found('standby'), 2)
  assert.equal(await found('prefer-standby'), 2)
  assert.equal(await locate([3, 4], 'prefer-standby', servers).port(), 3)
})

test('a silent server does not delay the others', async () => {
  const { port, stopped } = locate([1, 2, 3], 'read-write', { 1: 'silent', 2: standby, 3: primary })
  assert.equal(await port(), 3)
  assert.deepEqual(stopped, [1])
})

test('concurrent callers share one search, and its result is remembered until it is forgotten', async () => {
  const servers: Record<number, ServerState> = { 1: primary, 2: standby }
  const { locator, port, asked } = locate([1, 2], 'read-write', servers)
  assert.deepEqual(await Promise.all([port(), port(), port()]), [1, 1, 1])
  assert.deepEqual(asked, [1])
  const { place, remembered } = await locator.find()
  assert.ok(remembered)
  Object.assign(servers, { 1: standby, 2: primary })
  assert.equal(await port(), 1)
  locator.forget(place)
  assert.equal(await port(), 2)
  // A late report about the former server does not affect the present one.
  locator.forget(place)
  assert.ok((await locator.find()).remembered)
})

test('a primary that was used because no standby was available is not remembered', async () => {
  const servers: Record<number, ServerState> = { 1: primary }
  const { port } = locate([1, 2], 'prefer-standby', servers)
  assert.equal(await port(), 1)
  servers[2] = standby
  assert.equal(await port(), 2)
})

test('with load_balance_hosts=random, hosts are tried in random order', async () => {
  const address = parseAddress('postgres://127.0.0.1:1,127.0.0.1:2/db?load_balance_hosts=random')
  const locator = new Locator(address, 'any', async () => primary, 60_000)
  const ports = new Set<number>()
  // The probability of two thousand equal coin flips is 10^-602.
  for (let n = 0; n < 2_000 && ports.size < 2; n += 1) ports.add((await locator.find()).place.host.port)
  assert.deepEqual(
    [...ports].toSorted((a, b) => a - b),
    [1, 2],
  )
})

test('all addresses of a name are asked, and a name that does not resolve is one failed server', async () => {
  const asked: (string | undefined)[] = []
  const address = parseAddress('postgres://nowhere.invalid,localhost/db')
  const locator = new Locator(
    address,
    'read-write',
    async (place) => {
      asked.push(place.address)
      throw new Error('refused')
    },
    60_000,
  )
  await assert.rejects(locator.find(), /nowhere\.invalid:5432: .*; localhost:5432 \(.*\): refused/)
  assert.ok(asked.length > 0 && asked.every((address) => address === '127.0.0.1' || address === '::1'))
})
