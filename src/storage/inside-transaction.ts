import { AsyncLocalStorage } from 'node:async_hooks'

/** Set within the work of a transaction, to detect a wait for the lock that the transaction itself holds. */
const holder = new AsyncLocalStorage<{ held: boolean }>()

/** Runs the work of a transaction so that a deadlock with itself becomes an error. The caller updates `mark.held`. */
export function insideTransaction<T>(mark: { held: boolean }, work: () => T): T {
  return holder.run(mark, work)
}

/** Whether the caller is within a transaction that holds the right to write. */
export function holdsTheLock(): boolean {
  return holder.getStore()?.held ?? false
}
