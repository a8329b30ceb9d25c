import { sql } from 'kysely'
import { Type } from 'typebox'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import { pendingMigrations } from '../../storage/migrate.ts'
import type { App } from '../app.ts'
import { version } from '../../runtime/version.ts'
import { closedObject, DateTime, nullable } from '../schemas/schemas.ts'
import { report } from './report.ts'

const Version = closedObject({
  version: Type.String(),
  node: Type.String(),
  engine: Type.Enum(['sqlite', 'postgres']),
  engineVersion: Type.String(),
  schema: closedObject({
    migrations: Type.Integer({ description: 'Applied migrations' }),
    pending: Type.Array(Type.String(), { description: 'Migrations that are to be applied' }),
    migratedAt: nullable(DateTime, 'When the last migration was applied'),
  }),
  startedAt: DateTime,
  processes: Type.Integer({ description: 'Processes of the service on this database' }),
})

/** The session by which each process listens (storage/postgres/session/). */
const listening = 'postern-listen'

/** GET /version: what runs. @param startedAt milliseconds since 1970 */
export function versionRoute(app: App, database: Database, startedAt: number): void {
  app.get(
    '/version',
    report('operate', "Versions of the service, Node.js and the database, and the schema's state", Version),
    async () => {
      const { count, last } = await database.reader
        .selectFrom('migrations')
        .select((eb) => [
          eb.fn.countAll<number>().as('count'),
          eb.fn.max<number | null>('applied_at').as('last'),
        ])
        .executeTakeFirstOrThrow()
      return {
        version,
        node: process.versions.node,
        engine: database.engine,
        ...(await readEngine(database)),
        schema: {
          migrations: count,
          pending: await pendingMigrations(database),
          migratedAt: isoTimeOrNull(last),
        },
        startedAt: isoTime(startedAt),
      }
    },
  )
}

async function readEngine(database: Database): Promise<{ engineVersion: string; processes: number }> {
  if (database.engine === 'sqlite') {
    const { rows } = await sql<{ version: string }>`select sqlite_version() as version`.execute(
      database.reader,
    )
    // One SQLite file belongs to one process.
    return { engineVersion: rows[0]!.version, processes: 1 }
  }
  const { rows } = await sql<{ version: string; processes: number }>`
    select current_setting('server_version') as version,
      (select count(*)::int from pg_stat_activity
        where application_name = ${listening} and datname = current_database()) as processes`.execute(
    database.reader,
  )
  return { engineVersion: rows[0]!.version, processes: Math.max(1, rows[0]!.processes) }
}
