import type { Client } from 'pg'

/** Milliseconds that a server has to confirm the end of a session. */
const confirmedWithin = 2_000

/** What the types of pg leave out. */
interface Connected {
  connection: { stream: { destroy(): void } }
}

/**
 * Ends a session. A server that is out of reach confirms nothing: the socket is destroyed then, since `Client.end` would
 * wait for ever. Rejects with what `Client.end` rejects with.
 */
export async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(
    () => (client as unknown as Connected).connection.stream.destroy(),
    confirmedWithin,
  )
  try {
    await client.end()
  } finally {
    clearTimeout(timer)
  }
}
