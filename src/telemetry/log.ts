import pino, { type Logger } from 'pino'

export type Log = Logger

/** Paths of values that never belong into a log, whoever logs them. */
const secretPaths = [
  'authorization',
  'cookie',
  'set-cookie',
  'token',
  'secret',
  'password',
  'code',
  'state',
  'verifier',
].flatMap((name) => [`*["${name}"]`, `*.headers["${name}"]`])

/** Structured log lines (NDJSON) on standard output, or wherever `destination` leads. */
export function createLog(level: string, destination?: pino.DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      redact: { paths: secretPaths, censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination ?? pino.destination({ dest: 1, sync: false, minLength: 0 }),
  )
}
