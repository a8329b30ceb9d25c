import type { Duplex } from 'node:stream'
import type { PoolClient } from 'pg'

/**
 * Returns a function that has what is sent from now on within this turn of the loop go out in one piece: writing to a
 * socket costs more than all else about a short statement.
 */
export function gathererOf(client: PoolClient): () => void {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection
  let gathering = false
  return () => {
    if (gathering) return
    gathering = true
    stream.cork()
    process.nextTick(() => {
      gathering = false
      stream.uncork()
    })
  }
}
