// What anybody may send takes time in proportion to its length: twice as much takes at most 2.5 times the processor time.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Client } from 'undici'
import { sources } from '../fuzz/sources.ts'
import { engines, started, startTestService } from '../harness/index.ts'
import { secretPresets } from '../harness/presets.ts'
import {
  exposed,
  send,
  worstRequests,
  type Answered,
  type RouteTable,
  type Sent,
  type WorstRequest,
} from './worst-requests.ts'

/**
 * Milliseconds of processor time below which growth is not asked about: a request that takes so little at its largest harms nobody, and
 * what a page of memory costs would decide.
 */
const harmless = 20
const mostGrowth = 2.5
/** Clients refuse longer headers (Node.js: 16 KiB). */
const mostHeaders = 16 * 1024
/** Repetitions at most, until growth is seen to be within its bound. */
const most = 25

/** Requests that are sent one behind the other on the connection, and measured together. */
const together = 13

const service = started(async () => {
  const { env, config } = exposed
  const one = await startTestService(engines[0]!, {
    env: { ...env, BASE_URL: 'https://gate.example.com' },
    config,
  })
  // The service has another public address than the one that it listens on.
  const { port } = one.app.server.address() as AddressInfo
  const client = new Client(`http://127.0.0.1:${port}`, {
    pipelining: together,
    maxHeaderSize: 1024 * 1024,
  })
  return {
    ...one,
    client,
    async close() {
      await client.destroy()
      await one.close()
    },
  }
})

/** Of this thread where Node.js tells it (from 23.9 on), so that neither other threads nor waiting for a core count. */
const cpu = (): number => {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1_000
}

async function cost(sent: readonly Sent[]): Promise<{ ms: number; answered: Answered[] }> {
  const before = cpu()
  const answered = await Promise.all(sent.map((one) => send(service.client, one)))
  return { ms: cpu() - before, answered }
}

/** The least of several, because others only add. */
async function costs(worst: WorstRequest): Promise<{ half: number; whole: number }> {
  let [half, whole] = [Infinity, Infinity]
  for (let count = 0; count < most; count += 1) {
    half = Math.min(half, (await cost([worst.of(worst.most / 2)])).ms)
    whole = Math.min(whole, (await cost([worst.of(worst.most)])).ms)
    if (count >= 4 && isLinear({ half, whole })) break
  }
  return { half, whole }
}

const isLinear = ({ half, whole }: { half: number; whole: number }): boolean =>
  whole <= harmless || whole <= mostGrowth * half

/** Those with a long body stand alone, because each takes some time. */
function* batchesOf(all: readonly WorstRequest[]): Generator<WorstRequest[]> {
  let batch: WorstRequest[] = []
  for (const worst of all) {
    if (worst.kind === 'query' || worst.kind === 'header') batch.push(worst)
    else yield [worst]
    if (batch.length < together) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function tableOf(): Promise<RouteTable> {
  const { paths } = (await service.app.inject('/openapi.json')).json<Pick<RouteTable, 'paths'>>()
  return { paths, routes: service.app.routeMethods.all() }
}

test('every preset has a source here', () => {
  assert.ok(sources.length > Object.keys(secretPresets).length, 'see test/fuzz/sources.ts')
})

test('requests of twice the length take at most 2.5 times the processor time, and no answer has endless headers', async () => {
  const all = worstRequests(await tableOf())
  assert.ok(all.length > 5_000, String(all.length))
  const faults: string[] = []
  const statuses = new Map<number, number>()
  for (const batch of batchesOf(all)) {
    const { ms, answered } = await cost(batch.map((worst) => worst.of(worst.most)))
    for (const [index, { status, headers }] of answered.entries()) {
      const { name } = batch[index]!
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status >= 500) faults.push(`${name}: ${status}`)
      if (headers > mostHeaders) faults.push(`${name}: ${headers} bytes of headers`)
    }
    // All of them together are harmless.
    if (ms < harmless) continue
    for (const worst of batch) {
      if (batch.length > 1 && (await cost([worst.of(worst.most)])).ms < harmless) continue
      const { half, whole } = await costs(worst)
      if (!isLinear({ half, whole }))
        faults.push(`${worst.name}: ${half.toFixed(1)} ms, twice the length ${whole.toFixed(1)} ms`)
    }
  }
  // Each is one that the service reads.
  for (const status of [0, 431, 501]) assert.equal(statuses.get(status), undefined, String(status))
  assert.deepEqual(faults, [])
})
