import { EndedUnderItsParts, type OpenCarrier } from '../sharing/carrier.ts'
import type { SqliteConnection } from './connection.ts'
import { execute, rollBack } from './execute.ts'
import type { WriteGate } from './gate.ts'

/** Opens transactions for parts, each a savepoint, on the connection of asynchronous transactions. */
export function carriersOn(
  connection: SqliteConnection,
  gate: WriteGate,
  begin: (connection: SqliteConnection) => Promise<void>,
): OpenCarrier {
  return async (_share, signal) => {
    const release = await gate.acquire('work')
    try {
      signal.throwIfAborted()
      await begin(connection)
    } catch (error) {
      release()
      throw error
    }
    // A full disk ends the transaction at any statement. Outside of one a savepoint would begin another, and a statement of
    // somebody who did not look at that error would be committed by itself, without its marker.
    const mustBeOpen = (): void => {
      if (!connection.inTransaction) throw new EndedUnderItsParts()
    }
    return {
      wanted: () => gate.urgent,
      enter() {
        mustBeOpen()
        connection.run('savepoint postern_part')
      },
      run(query) {
        mustBeOpen()
        return execute(connection, query)
      },
      keep() {
        mustBeOpen()
        connection.run('release postern_part')
      },
      undo() {
        mustBeOpen()
        connection.run('rollback to postern_part')
        connection.run('release postern_part')
      },
      async commit(closing) {
        mustBeOpen()
        try {
          if (closing) execute(connection, closing.query)
        } catch (error) {
          throw closing!.explain(error)
        }
        connection.exec('commit')
        release()
      },
      async drop() {
        try {
          rollBack(connection)
        } finally {
          release()
        }
      },
    }
  }
}
