import { AsyncLocalStorage } from 'node:async_hooks'

/** A call of a handler, to which everything belongs that it starts: promises, timers, sockets. */
export interface HandlerCall {
  readonly handler: string
  readonly source: string
  readonly event: number
  readonly type: string
  /** Fails the attempt to process the event. Returns false if the attempt has ended before. */
  fail(error: Error): boolean
}

interface Context {
  /** Of the transaction: whether it holds the right to write. The transaction updates it. */
  readonly lock: { readonly held: boolean }
  readonly call: HandlerCall | undefined
}

/** One for both purposes, because each costs time in every event. */
const context = new AsyncLocalStorage<Context>()

/** Runs the work of a transaction so that a deadlock with itself becomes an error. `call` is given if a handler does the work. */
export function insideTransaction<T>(
  lock: { readonly held: boolean },
  work: () => T,
  call: HandlerCall | undefined = currentCall(),
): T {
  return context.run({ lock, call }, work)
}

/** Whether the caller is within a transaction that holds the right to write. */
export function holdsTheLock(): boolean {
  return context.getStore()?.lock.held ?? false
}

/** The handler's call that started the current work. It may have ended. */
export function currentCall(): HandlerCall | undefined {
  return context.getStore()?.call
}
