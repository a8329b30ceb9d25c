import type { SessionCheck } from '../driver/session-client.ts'

/**
 * The server is a standby. Its data may be old: it does not know whether a session or key was revoked since, or up to which number
 * all events are present.
 */
export class StandbyServer extends Error {
  /** read_only_sql_transaction, as for a statement that writes. */
  readonly code = '25006'

  constructor() {
    super('the server is a standby')
    this.name = 'StandbyServer'
  }
}

/**
 * Refuses sessions on a standby. A primary never becomes a standby during a session, so each session is asked once.
 * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-INFO-TABLE
 */
export const primaryOnly: SessionCheck = async (client) => {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  if (rows[0]!.standby) throw new StandbyServer()
}
