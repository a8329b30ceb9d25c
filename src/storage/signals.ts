import { systemClock, type Scheduler } from '../runtime/clock.ts'
import type { Signal } from './database.ts'

/** Wakes listeners within this process, in a later turn of the event loop. */
export class LocalSignals {
  readonly #listeners = new Map<Signal, Set<() => void>>()
  readonly #pending = new Set<Signal>()
  readonly #scheduler: Scheduler

  constructor(scheduler: Scheduler = systemClock) {
    this.#scheduler = scheduler
  }

  on(name: Signal, listener: () => void): () => void {
    let listeners = this.#listeners.get(name)
    if (!listeners) this.#listeners.set(name, (listeners = new Set()))
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Several calls in one turn of the event loop wake once. Returns whether there are listeners. */
  emit(name: Signal): boolean {
    const heard = (this.#listeners.get(name)?.size ?? 0) > 0
    if (this.#pending.has(name)) return heard
    this.#pending.add(name)
    this.#scheduler.soon(() => {
      this.#pending.delete(name)
      for (const listener of this.#listeners.get(name) ?? []) listener()
    })
    return heard
  }
}
