import type { PostgresDatabase } from '../storage/database.ts'
import { adviceWithoutRoom } from '../storage/postgres/pool/connection-limit.ts'
import { ok, warning, type Finding } from './finding.ts'

/** Each process has one session of this name; the names of its others begin with `postern` too. */
const listening = 'postern-listen'

/** Connections of an administrator, and of a tool or two, that find room beside the processes. */
const fewOthers = 5

/**
 * `room` is what the server has for this role and database; `reserved_connections` came with PostgreSQL 16. Of the sessions of other
 * roles the server hides the type, but not the names.
 */
const statement = `
  select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
      nullif((select rolconnlimit from pg_roles where rolname = current_user), -1),
      nullif((select datconnlimit from pg_database where datname = current_database()), -1)
    ) as room,
    count(*) filter (where application_name = $1 and datname = current_database())::int as processes,
    count(*) filter (where application_name not like 'postern%')::int as others
  from pg_stat_activity
  where coalesce(backend_type, 'client backend') = 'client backend' and datid is not null and usesysid is not null`

interface Seen {
  room: number
  processes: number
  others: number
}

/**
 * Whether the server has room for all connections that the processes may make, as many as are running now, or one.
 * @param connections of a process at most
 */
export async function checkConnections({ pool }: PostgresDatabase, connections: number): Promise<Finding> {
  const { rows } = await pool.query<Seen>(statement, [listening])
  const { room, processes, others } = rows[0]!
  const wanted = Math.max(1, processes) * connections
  const running = processes === 1 ? '1 process is' : `${processes} processes are`
  const text = `${running} running; with ${connections} connections each, ${wanted} of the server's ${room}; other programs use ${others}`
  return wanted + Math.max(others, fewOthers) > room
    ? warning('connections', text, adviceWithoutRoom)
    : ok('connections', text)
}
