import type { Pool, PoolClient } from 'pg'
import type { OpenCarrier } from '../sharing/carrier.ts'
import { translateError } from '../unavailable.ts'
import type { ConnectionShares } from './connection-shares.ts'
import { toResult } from './result.ts'

/**
 * Opens transactions for parts, each a savepoint.
 * @param pool whose connections send statements without waiting for the answers to those before: a savepoint then costs
 * no round trip
 */
export function carriersOn(pool: Pool, shares: ConnectionShares): OpenCarrier {
  return async (share, signal) => {
    const leave = await shares.enter(share ?? 'shared', signal)
    let client: PoolClient
    try {
      client = await pool.connect()
    } catch (error) {
      leave()
      throw translateError(error)
    }
    let released = false
    const release = (broken: boolean): void => {
      if (released) return
      released = true
      client.release(broken)
      leave()
    }
    /** What fails here makes the statements after it fail, up to the commit, which tells. */
    const send = (statement: string): void => void client.query(statement).catch(() => undefined)
    send('begin')
    return {
      wanted: false,
      enter: () => send('savepoint postern_part'),
      async run(query) {
        try {
          // A single statement, which cannot hide the end of the transaction behind another one.
          const statement = { text: query.sql, values: query.parameters as unknown[], queryMode: 'extended' }
          return toResult(await client.query(statement))
        } catch (error) {
          throw translateError(error)
        }
      },
      keep(queried) {
        // Of statements that were not answered yet nothing is known.
        if (queried && client.getTransactionStatus() === 'E')
          throw new Error('a statement in the transaction failed, so it was rolled back')
        send('release savepoint postern_part')
      },
      undo: () => send('rollback to savepoint postern_part; release savepoint postern_part'),
      async commit() {
        try {
          // A transaction in which a statement failed answers ROLLBACK to COMMIT, without an error.
          const { command } = await client.query('commit')
          if (command !== 'COMMIT')
            throw new Error('a statement in the transaction failed, so it was rolled back')
        } catch (error) {
          release(true)
          throw translateError(error)
        }
        release(false)
      },
      async drop(broken = false) {
        if (released) return
        try {
          // Closing the connection makes the server roll back, whatever statement is running.
          if (!broken) await client.query('rollback')
          release(broken)
        } catch {
          // The connection broke: the server rolls back by itself, and the error was seen before.
          release(true)
        }
      },
    }
  }
}
