import { ConfigurationError, inspectEnvironment, redactedDatabaseUrl } from '../config/environment.ts'
import {
  NewerDatabase,
  OccupiedDatabase,
  UnreleasedDatabase,
  UnsuitableEncoding,
} from '../storage/migrate.ts'
import { ProductMigrationError } from '../storage/product-migrations.ts'
import { UnsuitablePooler } from '../storage/postgres/pool/pooler-check.ts'
import { BackupFault } from '../storage/sqlite/backup.ts'
import { FileInUse } from '../storage/sqlite/owner.ts'
import { adviceWithoutRoom } from '../storage/postgres/pool/connection-shares.ts'
import {
  causeOf,
  isTlsFailure,
  isWithoutRoom,
  StorageUnavailable,
  translateError,
} from '../storage/unavailable.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'
import { fileFault } from './finding.ts'

/** What a command that failed prints: mistakes of the user in words, what nobody foresaw with its stack. */
export function describeError(error: unknown, env = process.env): string {
  if (!(error instanceof Error)) return String(error)
  if (
    [
      BackupFault,
      ConfigurationError,
      FileInUse,
      NewerDatabase,
      OccupiedDatabase,
      ProductMigrationError,
      UnreleasedDatabase,
      UnsuitableEncoding,
      UnsuitablePooler,
    ].some((known) => error instanceof known)
  )
    return error.message
  return (
    describeListening(error) ??
    describeFile(error) ??
    describeDatabase(error, env) ??
    error.stack ??
    error.message
  )
}

function describeListening(error: NodeJS.ErrnoException): string | undefined {
  const { syscall, code, message, port } = error as NodeJS.ErrnoException & { port?: number }
  if (syscall !== 'listen') return undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken: stop the other program, or set PORT to another one.`
  if (code === 'EACCES') return 'This port requires privileges: set PORT to one above 1023.'
  return `Cannot listen on HOST and PORT: ${message}`
}

function describeFile(error: NodeJS.ErrnoException): string | undefined {
  const { path, syscall } = error
  const why = fileFault(error)
  return path === undefined || why === undefined ? undefined : `Cannot ${syscall} ${path}: ${why}.`
}

/** SQLSTATE classes of a server that answers, but not to us: invalid authorization, invalid catalog name. */
const refusals = new Set(['28', '3D'])
/** SQLSTATE read_only_sql_transaction: of a standby, and of a primary that was made read-only. */
const takesNoWrites = '25006'
/** SQLite result codes for what is no usable file: corrupt, not a database. */
const unusable = new Set([11, 26])

function describeDatabase(error: Error, env: NodeJS.ProcessEnv): string | undefined {
  const { severity, errcode = 0 } = error as { severity?: string; errcode?: number }
  const absent = translateError(error)
  const cause = causeOf(absent)
  const { code = '' } = cause as { code?: string }
  const refused = severity !== undefined && refusals.has(code.slice(0, 2))
  if (!(absent instanceof StorageUnavailable) && !refused && !unusable.has(errcode & 0xff)) return undefined
  const why = causeInWords(cause)
  const { databaseUrl = '' } = inspectEnvironment(env).configuration
  const advice = databaseUrl.startsWith('sqlite:')
    ? 'Check that the file is a database, its permissions and those of its folder, and the free space.'
    : code === takesNoWrites
      ? 'Name the primary; or all servers, with `?target_session_attrs=read-write`. For a standby for lists, set DATABASE_REPLICA_URL.'
      : isWithoutRoom(absent)
        ? adviceWithoutRoom
        : isTlsFailure(cause)
          ? 'With sslmode=verify-full the server needs TLS, and a certificate for the host of the URL; sslrootcert=FILE names its authority. On your own network, sslmode=disable turns TLS off.'
          : 'Check the address, the user, the name of the database, and that the server is running.'
  return `The database of DATABASE_URL (${redactedDatabaseUrl(databaseUrl)}) cannot be used: ${why}. ${advice}`
}
