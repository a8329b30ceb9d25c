// A process that sends webhooks and emits events at a constant rate, each to the next of several services in turn.
import { createHmac } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { answer, ready } from '../harness/child-process.ts'
import { sampleBody } from '../load/sample-body.ts'
import type { Steady, SteadyResult } from './load.ts'

/** Unbounded, a pause of the service would open more connections at once than its queue of new ones holds. */
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

answer(
  async ({
    ports,
    seconds,
    webhooks,
    emits,
    prefix,
    bytes,
    secret,
    apiKey,
  }: Steady): Promise<SteadyResult> => {
    const calls: Promise<void>[] = []
    const latencies: number[] = []
    const call = async (
      port: number,
      path: string,
      headers: Record<string, string>,
      body: string,
      status: number,
    ) => {
      const began = performance.now()
      const answered = await send(port, path, headers, body)
      latencies.push(performance.now() - began)
      if (answered !== status) throw new Error(`${path} was answered with ${answered}`)
    }
    const sendWebhook = (index: number): Promise<void> => {
      const body = sampleBody({ id: `${prefix}-w${index}`, type: 'order.paid' }, bytes)
      const signature = createHmac('sha256', secret).update(body).digest('hex')
      return call(ports[index % ports.length]!, '/webhooks/provider', { 'x-signature': signature }, body, 200)
    }
    const emit = (index: number): Promise<void> => {
      const body = sampleBody({ id: `${prefix}-e${index}`, type: 'order.paid' }, bytes)
      return call(ports[index % ports.length]!, '/events', { authorization: `Bearer ${apiKey}` }, body, 202)
    }
    const began = performance.now()
    let [sent, emitted] = [0, 0]
    for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - began) / 1000) {
      for (; sent < Math.min(elapsed, seconds) * webhooks; sent += 1) calls.push(sendWebhook(sent))
      for (; emitted < Math.min(elapsed, seconds) * emits; emitted += 1) calls.push(emit(emitted))
      await wait(1)
    }
    await Promise.all(calls)
    latencies.sort((a, b) => a - b)
    return { webhooks: sent, emits: emitted, p99: latencies[Math.floor(latencies.length * 0.99)] ?? 0 }
  },
)

function send(port: number, path: string, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request({
      agent,
      host: '127.0.0.1',
      port,
      path,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    })
    sending.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sending.on('error', reject)
    sending.end(body)
  })
}

ready()
