import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { adminKey } from '../harness/postern.ts'

/** Milliseconds since 1970, finer than whole ones, as the sink counts them. */
export const now = (): number => performance.timeOrigin + performance.now()

export interface Paced {
  count: number
  /** Milliseconds from one to the next. */
  every: number
  /** Of the events' ids. */
  prefix: string
  type?: string
}

/**
 * Emits one event after the other, so many milliseconds apart, and tells when each call was made.
 * @throws Error when one was not accepted
 */
export async function emitPaced(
  port: number,
  { count, every, prefix, type = 'order.paid' }: Paced,
): Promise<Map<string, number>> {
  const agent = new Agent({ keepAlive: true })
  const calledAt = new Map<string, number>()
  const calls: Promise<void>[] = []
  const began = now()
  for (let index = 0; index < count; index += 1) {
    await wait(Math.max(0, began + index * every - now()))
    const id = `${prefix}-${index}`
    calledAt.set(id, now())
    calls.push(emit(agent, port, JSON.stringify({ id, type, data: { index } })))
  }
  await Promise.all(calls)
  agent.destroy()
  return calledAt
}

function emit(agent: Agent, port: number, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const call = request({ agent, host: '127.0.0.1', port, path: '/events', method: 'POST', headers })
    call.on('response', (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 202
          ? resolve()
          : reject(new Error(`an event was answered with ${response.statusCode}`)),
      )
    })
    call.on('error', reject)
    call.end(body)
  })
}
