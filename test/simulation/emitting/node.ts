import type { Endpoint } from '../../../src/emitting/dispatch/endpoints.ts'
import { Dispatcher } from '../../../src/emitting/dispatch/dispatcher.ts'
import { Claimer } from '../../../src/storage/postgres/session/claimer.ts'
import { LocalSignals } from '../../../src/storage/signals.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { VirtualProcess } from '../receiving/virtual-time.ts'
import { payloadOf, simulatedStore } from './store.ts'
import type { Sessions } from './sessions.ts'
import type { DeliveryRow } from './tables.ts'
import type { World } from './world.ts'

/** A process of the service: the real dispatcher over a simulated queue, with simulated subscribers. */
export class DispatcherNode {
  readonly process: VirtualProcess
  readonly #sessions: Sessions
  readonly #world: World
  readonly #dispatcher: Dispatcher
  readonly #signals: LocalSignals
  #told: (subscriberId: string) => void = () => undefined

  constructor(name: string, world: World, sessions: Sessions) {
    const { time, chance, receivers, schedule, tables } = world
    this.#world = world
    // Clocks differ between machines, and one machine has an SQLite file.
    const skew = world.engine === 'sqlite' ? 0 : 400 * (chance.next() - 0.5)
    const process = (this.process = new VirtualProcess(name, time, chance, skew))
    this.#sessions = sessions
    const claimer = new Claimer({
      open: sessions.openFor(process),
      clock: process,
      elapsed: () => process.elapsed(),
      onError: (error) => world.trace(name, `the session of its lanes: ${String(error)}`),
    })
    const signals = (this.#signals = new LocalSignals(process))
    this.#dispatcher = new Dispatcher({
      database: {
        signal: (signal) => {
          signals.emit(signal)
          world.notify()
        },
        onSignal: (signal, listener) => signals.on(signal, listener),
        onSetBack: () => () => undefined,
        publish: () => world.notify(),
        onPublished: (topic, listener) => {
          // Of lanes the others are notified without a name: they look.
          if (topic === 'subscriber') this.#told = listener
          return () => (this.#told = () => undefined)
        },
        inBackground: () => Promise.reject(new Error('nothing follows here')),
      },
      store: simulatedStore(world, process, claimer),
      endpoints: {
        open: async ({ id }) => {
          const row = tables.subscribers.get(id)!
          return {
            id,
            url: id,
            timeout: row.timeout,
            concurrency: row.ordered ? 1 : row.concurrency,
            rate: row.rate,
            ordered: row.ordered,
            schedule,
            target: {
              method: 'POST' as const,
              special: undefined,
              origin: id,
              path: '/',
              headers: {},
              shown: '{',
            },
            httpSignature: false,
            owner: null,
            operational: false,
            failingSince: null,
            warnedAt: null,
            keysAt: () => [],
          } satisfies Endpoint
        },
      },
      attempt: receivers.attemptOf(world, process),
      health: { record: () => undefined },
      operationalEvents: {
        sideEffects: () => undefined,
        publish: () => Promise.reject(new Error('nothing follows here')),
      },
      metrics: { attempted: () => undefined },
      clock: process,
      scheduler: process,
      random: () => chance.next(),
      log: logTo((line) => world.trace(name, line)),
      close: () => Promise.resolve(),
    })
    world.trace(name, 'starts')
    this.#dispatcher.start()
  }

  /** Emits in a transaction of its own, and tells of it afterwards, unless it is killed between the two. */
  emit(event: number, subscriberIds: readonly string[]): void {
    const { time, chance, tables, trace } = this.#world
    const { generation } = this.#dispatcher
    time.at(time.now + 2 * chance.next(), () => {
      if (!this.process.alive) return
      const rows = tables.emit(event, subscriberIds, this.process.now())
      trace(this.process.name, `emits ${event} to ${subscriberIds.join(' ')}`)
      this.process.after(chance.is(0.05) ? 50 * chance.next() : chance.next(), () =>
        this.#announce(rows, generation),
      )
    })
  }

  #announce(rows: readonly DeliveryRow[], generation: number): void {
    this.#dispatcher.offer([
      rows.map(({ id, event, subscriberId, dueAt }) => ({
        delivery: { id, event, subscriberId, number: 1, begun: 1, dueAt, nonce: event },
        payload: payloadOf(event),
        generation,
      })),
    ])
  }

  changed(subscriberId: string): void {
    this.#dispatcher.changed(subscriberId)
    this.#world.tell(this.process.name, subscriberId)
    this.#signals.emit('deliveries')
    this.#world.notify()
  }

  /** What another process has changed. */
  hearOf(subscriberId: string): void {
    this.#told(subscriberId)
  }

  /** What other processes notify of. */
  hear(): void {
    this.#signals.emit('deliveries')
  }

  /** kill -9 */
  kill(): void {
    this.#world.trace(this.process.name, 'is killed')
    this.process.alive = false
    this.#sessions.breakThose(this.process, false)
  }

  /** Resolves when the process has ended by itself. */
  async stop(within: number): Promise<void> {
    this.#world.trace(this.process.name, 'is asked to stop')
    const deadline = new AbortController()
    this.process.after(within, () => deadline.abort())
    await this.#dispatcher.stop(deadline.signal)
    this.#world.trace(this.process.name, 'has stopped')
    this.process.alive = false
  }
}

function logTo(write: (line: string) => void): Log {
  const line = (first: { err?: Error }, message?: string): void =>
    write(`logs: ${message ?? ''} ${first.err ? first.err.message : ''}`)
  return { debug: line, info: line, warn: line, error: line } as unknown as Log
}
