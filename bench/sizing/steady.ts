// A process that sends webhooks and emits events at a constant rate.
import { createHmac } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { answer, ready } from '../harness/child-process.ts'
import { adminKey, sampleBody, webhookSecret } from '../load/sample.ts'

/** What is sent at a constant rate. */
export interface Steady {
  /** Of the service. */
  port: number
  seconds: number
  /** Webhooks and emitted events a second. */
  webhooks: number
  emits: number
  /** Of the events' ids. */
  prefix: string
}

export interface SteadyResult {
  webhooks: number
  emits: number
}

/** Unbounded, a pause of the service would open more connections at once than its queue of new ones holds. */
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

answer(async ({ port, seconds, webhooks, emits, prefix }: Steady): Promise<SteadyResult> => {
  const calls: Promise<void>[] = []
  const call = async (path: string, headers: Record<string, string>, body: string, status: number) => {
    const answered = await send(port, path, headers, body)
    if (answered !== status) throw new Error(`${path} was answered with ${answered}`)
  }
  const sendWebhook = (index: number): Promise<void> => {
    const body = sampleBody({ id: `${prefix}-w${index}`, type: 'order.paid' })
    const signature = createHmac('sha256', webhookSecret).update(body).digest('hex')
    return call('/webhooks/provider', { 'x-signature': signature }, body, 200)
  }
  const emit = (index: number): Promise<void> => {
    const body = sampleBody({ id: `${prefix}-e${index}`, type: 'order.paid' })
    return call('/events', { authorization: `Bearer ${adminKey}` }, body, 202)
  }
  const began = performance.now()
  let [sent, emitted] = [0, 0]
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - began) / 1000) {
    for (; sent < Math.min(elapsed, seconds) * webhooks; sent += 1) calls.push(sendWebhook(sent))
    for (; emitted < Math.min(elapsed, seconds) * emits; emitted += 1) calls.push(emit(emitted))
    await wait(1)
  }
  await Promise.all(calls)
  return { webhooks: sent, emits: emitted }
})

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
