// Signs and posts, and keeps nothing: as many loops as Postern has deliveries under way, on one undici agent.
import { createHmac } from 'node:crypto'
import { Agent } from 'undici'
import { answer, ready } from '../harness/child-process.ts'
import { sampleBody } from '../load/sample.ts'

export interface DeliveryPlan {
  origin: string
  /** Every event goes to each of them. */
  paths: readonly string[]
  events: number
  concurrency: number
  prefix: string
  bytes: number
}

const agent = new Agent({ allowH2: false })
const key = Buffer.alloc(32, 7)

answer(async ({ origin, paths, events, concurrency, prefix, bytes }: DeliveryPlan) => {
  const bodies = Array.from({ length: events }, (_, index) => {
    const id = `${prefix}-${index}`
    return { id, body: Buffer.from(sampleBody({ id, type: 'order.paid' }, bytes)) }
  })
  const count = events * paths.length
  let next = 0
  const deliver = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const { id, body } = bodies[Math.floor(index / paths.length)]!
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
      const response = await agent.request({
        origin,
        path: paths[index % paths.length]!,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
      })
      await response.body.dump()
      if (response.statusCode !== 200) throw new Error(`the sink answered ${response.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, deliver))
  return {}
})
ready()
