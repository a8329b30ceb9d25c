import { currentCall, type HandlerCall } from '../runtime/call-context.ts'
import type { Scheduler } from '../runtime/clock.ts'
import type { Service } from '../service.ts'
import type { Log } from '../telemetry/log.ts'

/** Milliseconds in which further signals are the same request: npm, a shell and the launcher each pass on the one they get. */
const oneRequest = 1_000

interface StopOnSignalsParts {
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

interface ReportUncaughtParts {
  service: Pick<Service, 'stop'>
  log: Pick<Log, 'error'>
  /** `process`, unless a test gives another emitter. */
  errors: Pick<NodeJS.EventEmitter, 'on'>
  exit: (code: number) => void
}

/**
 * Reports errors that nothing caught. One in a callback that a handler started fails the handler's attempt. Any other one stops the
 * service, because nobody knows what it left half done. A rejected promise ends nothing: most likely a handler lacks an `await`.
 */
export function reportUncaught({ service, log, errors, exit }: ReportUncaughtParts): void {
  let isStopping = false
  errors.on('unhandledRejection', (error) =>
    log.error({ err: error, ...named(currentCall()) }, 'unhandled promise rejection'),
  )
  errors.on('uncaughtException', (error) => {
    const call = currentCall()
    if (call) {
      const line = { err: error, ...named(call) }
      if (call.fail(asError(error)))
        log.error(line, 'a callback of a handler threw an error: its attempt has failed')
      else log.error(line, 'a callback of a handler threw an error after its attempt had ended')
      return
    }
    log.error({ err: error }, 'uncaught error: the process is stopping')
    if (isStopping) return
    isStopping = true
    service
      .stop()
      .catch((cause: unknown) => log.error({ err: cause }, 'could not stop cleanly'))
      .finally(() => exit(1))
  })
}

/** The value itself is the cause: not each has a text. */
function asError(thrown: unknown): Error {
  return thrown instanceof Error
    ? thrown
    : new Error('a value that is not an error was thrown', { cause: thrown })
}

function named(call: HandlerCall | undefined): object {
  if (!call) return {}
  const { handler, source, event, type } = call
  return { handler, source, event, type }
}
