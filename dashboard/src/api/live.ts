import { useSyncExternalStore } from 'react'

/** How the page hears of changes. `lost`: the connection broke and is being opened again. */
export type Connection = 'closed' | 'open' | 'lost'

const state: { connection: Connection } = { connection: 'closed' }
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The state of the live connection, for the sign in the header. */
export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => state.connection)
}
