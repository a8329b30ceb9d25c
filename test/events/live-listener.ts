import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { adminKey, type TestService } from '../harness/service.ts'

interface Message {
  name: string
  id: string | undefined
  data: { id?: number; eventId?: string; status?: string; topics?: string[]; position?: number }
}

/** Opens the stream, with the admin's key unless `headers` has a cookie, and collects its messages until it is closed. */
export async function listen(
  service: Pick<TestService, 'app' | 'baseUrl'>,
  headers: Record<string, string> = {},
) {
  const credential = headers['cookie'] === undefined && { authorization: `Bearer ${adminKey}` }
  const abort = new AbortController()
  const { port } = service.app.server.address() as AddressInfo
  const { pathname } = new URL(service.baseUrl)
  const response = await fetch(`http://127.0.0.1:${port}${pathname.replace(/\/$/, '')}/live`, {
    headers: { accept: 'text/event-stream', ...credential, ...headers },
    signal: abort.signal,
  })
  assert.equal(response.status, 200)
  const messages: Message[] = []
  let heartbeats = 0
  let text = ''
  let ended = false
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of response.body!) {
      text += decoder.decode(bytes as Uint8Array, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        const name = field('event')
        if (name !== undefined)
          messages.push({ name, id: field('id'), data: JSON.parse(field('data')!) as Message['data'] })
        else if (block.startsWith(':')) heartbeats += 1
      }
    }
  }
  const reading = read()
    .catch(() => undefined)
    .finally(() => (ended = true))
  return {
    response,
    messages,
    heartbeats: () => heartbeats,
    isEnded: () => ended,
    of: (name: string) => messages.filter((message) => message.name === name),
    close: () => (abort.abort(), reading),
  }
}

/** Heartbeats come every 15 seconds otherwise. */
export const hurried: Clock = {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms === 15_000 ? 50 : ms, callback),
}
