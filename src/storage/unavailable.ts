import type { Clock } from '../runtime/clock.ts'

/**
 * The database is unavailable: unreachable, full, locked by another program, restarting, damaged. Clients get 503 with
 * Retry-After; workers try again.
 */
export class StorageUnavailable extends Error {
  /** @param cause an error, or what is wrong */
  constructor(cause: unknown) {
    super(`the database is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause: typeof cause === 'string' ? new Error(cause) : cause,
    })
    this.name = 'StorageUnavailable'
  }
}

/**
 * SQLite result codes: busy, locked, read-only, I/O error, corrupt, full, cannot open, not a database
 * (https://sqlite.org/rescode.html). A damaged file needs a repair, and senders keep what they repeat until then.
 */
const sqliteCodes = new Set([5, 6, 8, 10, 11, 13, 14, 26])
/** SQLSTATE classes: connection exception, insufficient resources, operator intervention, system error. */
const postgresClasses = new Set(['08', '53', '57', '58'])
/**
 * Of other classes: a read-only server, such as the former primary after a fail-over; a server without our role; and a session whose
 * prepared statements a function deallocated.
 */
const postgresCodes = new Set(['25006', '28000', '28P01', '26000'])
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
])
/**
 * Codes of a TLS handshake: a certificate that has expired, of an unknown authority or for another name. A renewed one helps without a
 * restart. https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
const tlsCodes = /^(?:CERT_|ERR_TLS_CERT_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/
const withoutTls = /does not support SSL connections/
const poolMessages =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Cannot use a pool after calling end/

/** Returns StorageUnavailable if the error means that the database is unavailable, and the error itself otherwise. */
export function translateError(error: unknown): unknown {
  if (error instanceof StorageUnavailable || !(error instanceof Error)) return error
  const { errcode, code } = error as { errcode?: number; code?: string }
  const absent =
    (typeof errcode === 'number' && sqliteCodes.has(errcode & 0xff)) ||
    (typeof code === 'string' &&
      (networkCodes.has(code) ||
        (code.length === 5 && (postgresCodes.has(code) || postgresClasses.has(code.slice(0, 2)))))) ||
    isTlsFailure(error) ||
    poolMessages.test(error.message)
  return absent ? new StorageUnavailable(error) : error
}

/** The result of a call to the database. @throws StorageUnavailable, or the call's own error */
export async function translated<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    throw translateError(error)
  }
}

/** Whether a connection failed because of TLS. */
export function isTlsFailure(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string }
  return (typeof code === 'string' && tlsCodes.test(code)) || withoutTls.test(message ?? '')
}

/** SQLSTATE too_many_connections: of the server, the role or the database. */
const tooManyConnections = '53300'

/** Of StorageUnavailable, why the database is unavailable; any other error itself. */
export function causeOf(error: unknown): unknown {
  return error instanceof StorageUnavailable ? error.cause : error
}

/** Whether PostgreSQL has no room for another connection. */
export function isWithoutRoom(error: unknown): boolean {
  return (causeOf(error) as { code?: unknown } | undefined)?.code === tooManyConnections
}

/** Whether an error is a unique violation, on either engine. */
export function isUniqueViolation(error: unknown): boolean {
  const { errcode, code } = (error ?? {}) as { errcode?: number; code?: string }
  return errcode === 2067 || errcode === 1555 || code === '23505'
}

/** deadlock_detected, serialization_failure: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const repeatable = new Set<unknown>(['40P01', '40001'])

/** Whether a transaction failed because of another one, so that the same work may succeed when it runs again. */
export function mayRunAgain(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 10; cause = cause.cause, depth += 1)
    if (repeatable.has((cause as { code?: unknown }).code)) return true
  return false
}

/** SQLSTATE classes: data exception, integrity constraint violation. */
const refusedClasses = new Set(['22', '23'])
/** SQLite result codes (https://sqlite.org/rescode.html): too big, constraint, mismatch. */
const refusedCodes = new Set([18, 19, 20])

/** Whether a database refused a statement because of its values, so that a retry would fail too. */
export function isRefusedValue(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return refusedCodes.has(errcode & 0xff)
  return typeof code === 'string' && code.length === 5 && refusedClasses.has(code.slice(0, 2))
}

/**
 * Resolves or rejects as `work` does, or rejects after `ms` milliseconds. The work itself continues; a later rejection is ignored.
 * @param late what to say of work that takes longer
 * @throws StorageUnavailable if it takes longer
 */
export async function withinTime<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  late: string | Error,
): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const cancel = clock.after(ms, () =>
    timeout.reject(typeof late === 'string' ? new StorageUnavailable(late) : late),
  )
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    cancel()
  }
}
