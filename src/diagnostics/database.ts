import { sql } from 'kysely'
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import { secretsFile } from '../config/generated-secrets.ts'
import type { Database, PostgresDatabase } from '../storage/database.ts'
import {
  NewerDatabase,
  OccupiedDatabase,
  pendingMigrations,
  UnreleasedDatabase,
  UnsuitableEncoding,
} from '../storage/migrate.ts'
import { type DatabasePlace, openDatabase } from '../storage/open.ts'
import { describeExposed, exposedFiles, sqliteFileOf } from '../storage/sqlite/files.ts'
import { describeError } from './describe-error.ts'
import { fault, type Finding, ok, warning } from './finding.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { adviceWithoutRoom } from '../storage/postgres/pool/connection-shares.ts'
import type { Configuration } from '../config/environment.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'

/** Milliseconds that this machine's clock and the database's may differ. */
const tolerance = 2_000
/** Mebibytes. */
const littleSpace = 500

/**
 * The database, its migrations, the space for it, its connections, and this machine's clock. It does not create a database that
 * does not exist.
 * @param connections of a process at most, on PostgreSQL
 * @param contents checks the contents of the database. It is called only if the other checks found no fault.
 */
export async function* checkDatabase(
  place: DatabasePlace,
  connections: number,
  contents: (database: Database) => AsyncGenerator<Finding>,
): AsyncGenerator<Finding> {
  const { databaseUrl: url } = place
  const file = sqliteFileOf(url)
  yield* checkModes(url, file)
  if (file !== undefined && !existsSync(file)) {
    yield checkPlace(resolve(file))
    yield ownClock()
    return
  }
  let database: Database | undefined
  try {
    database = await openDatabase(place)
    // First of all: nothing is to be set up in the sessions of a pooler.
    if (database.engine === 'postgres') {
      await database.checkPooling()
      yield ok('sessions', 'no pooler changes the sessions of connections')
    }
    let isUsable = true
    for await (const finding of checkOpenDatabase(database, connections)) {
      yield finding
      if (finding.state === 'fault') isUsable = false
    }
    if (isUsable) yield* contents(database)
  } catch (error) {
    yield fault('database', describeError(error))
  } finally {
    await database?.close()
  }
}

/** The same for a database that is open. */
export async function* checkOpenDatabase(database: Database, connections: number): AsyncGenerator<Finding> {
  await database.ping()
  yield ok('database', `${database.engine} is available`)
  yield* checkContents(database)
  if (database.engine === 'postgres') yield await checkConnections(database, connections)
}

/** Whether other users of this machine can read the database or the secrets that demo mode generated. */
export function* checkModes(url: string, file = sqliteFileOf(url)): Generator<Finding> {
  const secrets = secretsFile(url)
  const exposed = file === undefined ? exposedFiles(secrets) : exposedFiles(resolve(file), [secrets])
  if (exposed.length > 0) yield warning('file permissions', describeExposed(exposed))
}

/** Whether a file could be made there, with all of its folders. */
function checkPlace(file: string): Finding {
  let folder = dirname(file)
  while (!existsSync(folder)) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return ok('database', `${file} will be created at the first start`)
  } catch (error) {
    return fault('database', describeError(error))
  }
}

async function* checkContents(database: Database): AsyncGenerator<Finding> {
  try {
    const pending = await pendingMigrations(database)
    yield pending.length === 0
      ? ok('migrations', 'up to date')
      : warning('migrations', `${pending.join(', ')} to be applied`, '`postern migrate`, or start')
    if (pending.length === 0) yield await checkKeys(database)
    if (database.engine === 'sqlite') yield checkSpace(database.file)
    yield database.engine === 'postgres'
      ? await compareClocks(database)
      : pending.length === 0
        ? await checkOwnClock(database)
        : ownClock()
  } catch (error) {
    const known = [NewerDatabase, UnreleasedDatabase, OccupiedDatabase, UnsuitableEncoding]
    if (!(error instanceof Error && known.some((kind) => error instanceof kind))) throw error
    yield fault('migrations', error.message)
  }
}

function checkSpace(file: string): Finding {
  const { bavail, bsize } = statfsSync(dirname(file))
  const free = (bavail * bsize) / 1024 ** 2
  return free < littleSpace
    ? warning('disk', `only ${Math.round(free)} MB free on the disk of the database`)
    : ok('disk', `${Math.round(free / 1024)} GB free`)
}

async function compareClocks(database: Database): Promise<Finding> {
  const { rows } = await sql<{
    ms: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(database.reader)
  const off = Math.abs((rows[0]?.ms ?? 0) - systemClock.now())
  return off > tolerance
    ? fault(
        'clock',
        `this machine and the database differ by ${Math.round(off)} ms`,
        'run a time service (NTP) on both',
      )
    : ok('clock', `within ${Math.round(off)} ms of the database`)
}

/** SQLite has no clock of its own, but times that were written: a clock that was set back is behind them. */
async function checkOwnClock(database: Database): Promise<Finding> {
  const { newest } = await database.reader
    .selectFrom('migrations')
    .select((eb) => [
      eb.fn
        .coalesce(
          eb.selectFrom('events').select('created_at').orderBy('id', 'desc').limit(1),
          eb.fn.max('applied_at'),
        )
        .as('newest'),
    ])
    .executeTakeFirstOrThrow()
  const behind = newest - systemClock.now()
  return behind > tolerance
    ? fault(
        'clock',
        `this machine's is ${Math.round(behind / 1000)} s behind the newest time in the database`,
        'run a time service (NTP)',
      )
    : ownClock()
}

function ownClock(): Finding {
  return ok('clock', `${isoTime(systemClock.now())} on this machine`)
}

/** Keys that one finding names at most. */
const mostNamed = 5

/** Keys in force that reach everything and never expire, among the newest thousand. */
async function checkKeys({ reader }: Database): Promise<Finding> {
  const rows = await reader
    .selectFrom('api_keys')
    .select(['id', 'scopes'])
    .where('revoked_at', 'is', null)
    .where('expires_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1000)
    .execute()
  const found = rows.filter(({ scopes }) => scopes.split(' ').includes('admin'))
  if (found.length === 0) return ok('API keys', 'all keys with the admin scope expire')
  const named = found.slice(0, mostNamed).map(({ id }) => id)
  const more = found.length > mostNamed ? ` and ${found.length - mostNamed} more` : ''
  return warning(
    'API keys',
    `${named.join(', ')}${more} with the scope admin never expire`,
    'give keys narrower scopes or an expiry (`postern keys create --scope … --expires 90d`), then `postern keys revoke` these',
  )
}

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
async function checkConnections({ pool }: PostgresDatabase, connections: number): Promise<Finding> {
  const { rows } = await pool.query<Seen>(statement, [listening])
  const { room, processes, others } = rows[0]!
  const wanted = Math.max(1, processes) * connections
  const running = processes === 1 ? '1 process is' : `${processes} processes are`
  const text = `${running} running; with ${connections} connections each, ${wanted} of the server's ${room}; other programs use ${others}`
  return wanted + Math.max(others, fewOthers) > room
    ? warning('connections', text, adviceWithoutRoom)
    : ok('connections', text)
}

type Settings = Partial<Pick<Configuration, 'databaseReplicaUrl' | 'databaseSessionUrl'>>

const about = 'standby'

const askState = `select pg_is_in_recovery() as standby,
  (select has_table_privilege(oid, 'select') from pg_class where oid = to_regclass('continuity')) as readable`
interface State {
  standby: boolean
  /** Null if there is no such table. */
  readable: boolean | null
}

/** Whether lists can be read at DATABASE_REPLICA_URL. How far it is behind only a service that runs can tell. */
export async function checkStandby({ databaseReplicaUrl, databaseSessionUrl }: Settings): Promise<Finding[]> {
  if (databaseReplicaUrl === undefined) return []
  try {
    // The driver is loaded only if it is needed.
    const { askStandby } = await import('../storage/postgres/replica.ts')
    const pooled = databaseSessionUrl !== undefined
    const rows = await askStandby<State>(databaseReplicaUrl, { pooled }, askState)
    return [describeStandby(rows[0]!)]
  } catch (error) {
    const why = `DATABASE_REPLICA_URL cannot be used, so lists are read from the primary: ${causeInWords(error)}`
    return [fault(about, why)]
  }
}

function describeStandby({ standby, readable }: State): Finding {
  if (readable === null)
    return fault(
      about,
      'it has no table continuity: it is another database, or has not replayed the migrations',
    )
  if (!readable) return fault(about, 'its user cannot read the tables: lists are read from the primary')
  if (standby) return ok(about, 'lists are read from it')
  const text = 'DATABASE_REPLICA_URL leads to a server that is not a standby: lists are read from the primary'
  return warning(about, text)
}
