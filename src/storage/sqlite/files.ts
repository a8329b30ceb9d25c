import { closeSync, existsSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StorageUnavailable } from '../unavailable.ts'

/** The file that `sqlite:FILE` or `sqlite:///FILE` names; `undefined` for any other URL. */
export function sqliteFileOf(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
}

/** A file that is open in this process: its path, and its identity at that time. */
export interface OpenFile {
  readonly file: string
  readonly identity: string | undefined
}

/**
 * Checks that a path still leads to the opened file, with a system call. If a file is deleted or replaced under an open connection,
 * writes succeed and are lost.
 * @throws StorageUnavailable if the file was removed or replaced
 */
export function checkInPlace({ file, identity }: OpenFile): void {
  if (identityOf(file) === identity) return
  throw new StorageUnavailable(
    `${file} was removed or replaced while it was open: put it back, or start the service again`,
  )
}

/** The address that opens an existing file and never creates one (https://sqlite.org/uri.html). */
export function existing(file: string): URL {
  const url = pathToFileURL(file)
  url.searchParams.set('mode', 'rw')
  return url
}

/** Identifies what a path leads to now. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** Suffixes of the files that SQLite makes for one. */
export const ofOneFile = ['', '-wal', '-shm', '-journal']
/** Suffixes of the files of a database. */
const beside = [...ofOneFile, '-owner', ...ofOneFile.map((end) => `-spool${end}`)]

/**
 * Creates a file that only its owner can read and write (mode 0600), regardless of the umask. SQLite gives its log and shared
 * memory the same mode. An existing file keeps its mode.
 * @throws StorageUnavailable
 */
export function createPrivately(file: string): void {
  if (existsSync(file)) return
  try {
    // Exclusive: closing an existing file would drop the locks that SQLite holds on it in this process
    // (https://sqlite.org/howtocorrupt.html, section 2.2).
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    // EEXIST: another connection created it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new StorageUnavailable(error)
  }
}

/** A file that users other than its owner can read or write. */
interface ExposedFile {
  file: string
  /** The permission bits in octal, such as `0644`. */
  mode: string
}

/**
 * The files of an SQLite database, and of `others`, that users other than the owner can read or write. A file in a folder that
 * others cannot enter is not exposed. Empty on Windows, which has no such permissions.
 */
export function exposedFiles(database: string, others: readonly string[] = []): ExposedFile[] {
  if (process.platform === 'win32') return []
  const files = [...beside.map((end) => database + end), ...others]
  return files.flatMap((file) => {
    if (!existsSync(file)) return []
    const real = realpathSync(file)
    const { mode } = statSync(real)
    const open = mode & enterable(dirname(real))
    return (open & 0o066) === 0 ? [] : [{ file, mode: `0${(mode & 0o777).toString(8).padStart(3, '0')}` }]
  })
}

/**
 * Whether another user of this machine made a file. In a folder where others may write, its contents are theirs, whatever its mode.
 * Never on Windows, which has no such owners.
 */
export function isForeign(file: string): boolean {
  const own = process.geteuid?.()
  return own !== undefined && existsSync(file) && statSync(file).uid !== own
}

/** The permission bits of the classes (group, others) that may enter a folder and all folders above it. */
function enterable(folder: string): number {
  let classes = 0o077
  for (let at = folder; ; at = dirname(at)) {
    const { mode } = statSync(at)
    if ((mode & 0o010) === 0) classes &= ~0o070
    if ((mode & 0o001) === 0) classes &= ~0o007
    if (at === dirname(at)) return classes
  }
}

/** What to do about exposed files, in one sentence. */
export function describeExposed(exposed: readonly ExposedFile[]): string {
  const named = exposed.map(({ file, mode }) => `${file} (${mode})`).join(', ')
  return `other users of this machine can read or write ${named}: chmod 600 these files`
}
