import { StorageUnavailable } from '../unavailable.ts'
import type { SqliteConnection } from './connection.ts'
import { rollBack } from './execute.ts'

/**
 * Begins a writing transaction; false if another process holds the write lock of the file.
 * @throws StorageUnavailable, also if the file was removed or replaced
 */
export function tryBegin(connection: SqliteConnection): boolean {
  connection.checkInPlace()
  try {
    connection.exec('begin immediate')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

/** Does the work of a transaction that has begun, and commits; rolls back if either fails. */
export function finish<T>(connection: SqliteConnection, work: () => T): T {
  try {
    const result = work()
    connection.exec('commit')
    return result
  } catch (error) {
    rollBack(connection)
    throw error
  }
}

function isBusy(error: unknown): boolean {
  const cause = error instanceof StorageUnavailable ? (error.cause as { errcode?: number }) : undefined
  return cause?.errcode !== undefined && (cause.errcode & 0xff) === 5
}
