import type { Scheduler } from '../runtime/clock.ts'
import type { Service } from '../service.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds in which further signals are the same request: npm, a shell and the launcher each pass on the one they get. */
const oneRequest = 1_000

export interface StopOnSignalsParts {
  service: Pick<Service, 'announceStop' | 'stop'>
  log: Pick<Log, 'info' | 'error'>
  clock: Pick<Scheduler, 'elapsed'>
  /** `process`, unless a test gives another emitter. */
  signals: Pick<NodeJS.EventEmitter, 'on'>
  exit: (code: number) => void
}

/**
 * Stops the service at SIGTERM and SIGINT. A further request ends the delay of the announcement, and one after that ends the process
 * at once. Signals within a second of a request belong to it.
 */
export function stopOnSignals({ service, log, clock, signals, exit }: StopOnSignalsParts): void {
  const skipDelay = new AbortController()
  let state: 'running' | 'announced' | 'stopping' = 'running'
  let last = -Infinity
  const end = async (): Promise<void> => {
    await service.announceStop(skipDelay.signal)
    state = 'stopping'
    await service.stop()
  }
  const stop = (signal: NodeJS.Signals): void => {
    const now = clock.elapsed()
    if (now - last < oneRequest) return
    last = now
    // Asked again, a person wants it now. What was acknowledged is stored in any case.
    if (state === 'stopping') return exit(1)
    log.info({ signal }, 'stopping')
    if (state === 'announced') return skipDelay.abort()
    state = 'announced'
    end().then(
      () => exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'could not stop cleanly')
        exit(1)
      },
    )
  }
  signals.on('SIGTERM', stop)
  signals.on('SIGINT', stop)
}
