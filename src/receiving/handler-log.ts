import type { Log } from '../telemetry/log.ts'
import type { HandlerLog } from './config.ts'

/** A logger that names the event in each line, made when a handler first logs: most never do. */
export function lazyLog(log: Log, bindings: object): HandlerLog {
  let child: HandlerLog | undefined
  const write =
    (level: keyof HandlerLog) =>
    (first: object | string, message?: string): void => {
      child ??= log.child(bindings)
      if (message === undefined) child[level](first)
      else child[level](first, message)
    }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
