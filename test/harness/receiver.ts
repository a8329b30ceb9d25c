import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { scoped, type Unscoped } from './scoped.ts'
import { listening } from './listening.ts'

export interface ReceivedCall {
  at: number
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** What a receiver does with a call: a status, or anything else by hand. */
export type Answer = number | ((response: ServerResponse, call: ReceivedCall) => void)

export interface Receiver extends AsyncDisposable {
  url: string
  calls: ReceivedCall[]
  /** Resolves as soon as `count` calls have come (in all, not from now). */
  waitFor(count: number, limit?: number): Promise<ReceivedCall[]>
  /** Changes the answer to all later calls. */
  answer(answer: Answer): void
  close(): Promise<void>
}

/**
 * A real subscriber on a loopback port. The answers are given one per call in their order, the last one for all that
 * follow; default 204.
 */
export async function startReceiver(...answers: Answer[]): Promise<Receiver> {
  const calls: ReceivedCall[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const call = {
        at: Date.now(),
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks),
      }
      calls.push(call)
      const answer = answers.length > 1 ? answers.shift()! : (answers[0] ?? 204)
      if (typeof answer === 'number') response.writeHead(answer).end()
      else answer(response, call)
      for (const check of waiting) check()
    })
  })
  const { url, close } = await listening(server)
  return scoped<Unscoped<Receiver>>({
    url: `${url}/hook`,
    calls,
    answer: (answer) => void answers.splice(0, answers.length, answer),
    waitFor: (count, limit = 300_000) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (calls.length < count) return
          clearTimeout(timer)
          waiting.delete(check)
          resolve(calls)
        }
        const timer = setTimeout(() => {
          waiting.delete(check)
          reject(new Error(`${calls.length} of ${count} calls came within ${limit} ms`))
        }, limit)
        waiting.add(check)
        check()
      }),
    close,
  })
}

/** Never answers. */
export const hang: Answer = () => undefined
