import { AsyncLocalStorage } from 'node:async_hooks'

/** Set inside a transaction's work, to recognise a wait for the lock that its own transaction holds. */
const holder = new AsyncLocalStorage<{ held: boolean }>()

/** Runs a transaction's work so that a deadlock with itself becomes an error. `mark.held` is kept by the caller. */
export function insideTransaction<T>(mark: { held: boolean }, work: () => T): T {
  return holder.run(mark, work)
}

/** Whether the caller works within a transaction that holds the right to write. */
export function holdsTheLock(): boolean {
  return holder.getStore()?.held ?? false
}
