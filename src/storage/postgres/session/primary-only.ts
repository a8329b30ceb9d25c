import type { SessionCheck } from '../driver/session-client.ts'

/**
 * The server is a standby. It tells what was true some time ago: whether a session or a key was taken back since then, and up
 * to which number all events are there, it cannot tell.
 */
export class StandbyServer extends Error {
  /** read_only_sql_transaction, the one that a statement which writes would fail with. */
  readonly code = '25006'

  constructor() {
    super('the server is a standby')
    this.name = 'StandbyServer'
  }
}

/**
 * Refuses sessions on a standby. A primary never becomes a standby under a session, so each is asked once; of a standby that is
 * promoted the next session is taken.
 * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-INFO-TABLE
 */
export const primaryOnly: SessionCheck = async (client) => {
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  if (rows[0]!.standby) throw new StandbyServer()
}
