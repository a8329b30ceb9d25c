import { SessionClient, type SessionCheck } from '../driver/session-client.ts'

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
 * Rejects sessions on a standby. A primary never becomes a standby during a session, so each session is asked once. A session that begins
 * read-only stays so, also when the server has become writable: it is replaced after a while.
 * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-RECOVERY-INFO-TABLE
 */
export const primaryOnly: SessionCheck = async (client) => {
  const { rows } = await client.query<{ standby: boolean; readOnly: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`,
  )
  if (rows[0]!.standby) throw new StandbyServer()
  if (client instanceof SessionClient) client.isReadOnly = rows[0]!.readOnly
}
