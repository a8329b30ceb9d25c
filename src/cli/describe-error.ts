import { ConfigurationError, inspectEnvironment, redactedDatabaseUrl } from '../config/environment.ts'
import { FileInUse } from '../storage/sqlite/owner.ts'
import { StorageUnavailable, translateError } from '../storage/unavailable.ts'
import { CommandFailure } from './command-failure.ts'

/** What a command that failed prints: mistakes of the user in words, what nobody foresaw with its stack. */
export function describeError(error: unknown, env = process.env): string {
  if (!(error instanceof Error)) return String(error)
  if ([ConfigurationError, CommandFailure, FileInUse].some((known) => error instanceof known))
    return error.message
  return (
    describeListening(error) ??
    describeFile(error) ??
    describeDatabase(error, env) ??
    error.stack ??
    error.message
  )
}

/** An error's message; of several attempts to connect, each one's. */
export function causeInWords(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(causeInWords).join(', ')
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}

function describeListening({ syscall, code, message }: NodeJS.ErrnoException): string | undefined {
  if (syscall !== 'listen') return undefined
  if (code === 'EADDRINUSE') return 'The port is taken: stop the other program, or set PORT to another one.'
  if (code === 'EACCES') return 'This port needs more rights: set PORT to one above 1023.'
  return `HOST and PORT cannot be listened on: ${message}`
}

const fileErrors: Readonly<Record<string, string>> = {
  EACCES:
    'the user that runs this has no right to: change the rights of the file or its folder, or name another place',
  EPERM:
    'the user that runs this has no right to: change the rights of the file or its folder, or name another place',
  ENOENT: 'it is not there',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is no folder',
  EROFS: 'it lies on a read-only file system: name another place',
  ENOSPC: 'the disk is full',
}

function describeFile({ path, syscall, code = '' }: NodeJS.ErrnoException): string | undefined {
  const why = fileErrors[code]
  return path === undefined || why === undefined ? undefined : `Cannot ${syscall} ${path}: ${why}.`
}

/** SQLSTATE classes of a server that answers, but not to us: invalid authorization, invalid catalog name. */
const refusals = new Set(['28', '3D'])
/** SQLite result codes for what is no usable file: corrupt, not a database. */
const unusable = new Set([11, 26])

function describeDatabase(error: Error, env: NodeJS.ProcessEnv): string | undefined {
  const { code = '', severity, errcode = 0 } = error as { code?: string; severity?: string; errcode?: number }
  const absent = translateError(error)
  const refused = severity !== undefined && refusals.has(code.slice(0, 2))
  if (!(absent instanceof StorageUnavailable) && !refused && !unusable.has(errcode & 0xff)) return undefined
  const why = causeInWords(absent instanceof StorageUnavailable ? absent.cause : error)
  const { databaseUrl = '' } = inspectEnvironment(env).configuration
  const advice = databaseUrl.startsWith('sqlite:')
    ? 'Check that the file is a database, the rights of it and its folder, and the free space.'
    : 'Check the address, the user, the name of the database, and that the server runs.'
  return `The database of DATABASE_URL (${redactedDatabaseUrl(databaseUrl)}) cannot be used: ${why}. ${advice}`
}
