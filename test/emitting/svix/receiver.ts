import { startReceiver, type Receiver } from '../../harness/receiver.ts'

/** A receiver as run-calls.ts wants it; its address has no path. */
export async function startSvixReceiver(): Promise<Receiver> {
  const receiver = await startReceiver((response, { path }) => {
    response.writeHead(path === '/fail' ? 500 : 200, { 'content-type': 'application/json' })
    response.end(path === '/fail' ? '{"error":"no"}' : '{"ok":true}')
  })
  return { ...receiver, url: new URL(receiver.url).origin }
}
