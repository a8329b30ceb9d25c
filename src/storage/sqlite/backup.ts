import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { ofOneFile } from './files.ts'

/** Pages that are copied between two looks at the signal: about 8 MB. */
const pagesPerStep = 2_000

/** The table of a backup that holds the spool. */
const createPart = 'create table backup_parts (name text primary key, content blob not null) strict'

/** A backup that cannot be read, or a spool that cannot be copied into one. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault'
}

interface BackupOptions {
  signal?: AbortSignal | undefined
  onProgress?: ((pagesDone: number, pages: number) => void) | undefined
}

/**
 * Copies a database that may be in use, with its spool, into one new file. The spool is copied first: an event that is moved
 * into the database meanwhile is in both, and its key makes it one again.
 */
export async function backUpSqlite(
  source: string,
  file: string,
  { signal, onProgress }: BackupOptions = {},
): Promise<void> {
  const partial = `${file}.partial`
  const spoolCopy = `${file}.spool.partial`
  try {
    if (existsSync(`${source}-spool`)) await copySpool(`${source}-spool`, spoolCopy, signal)
    await copySnapshot(source, partial, { signal, onProgress })
    const copy = new DatabaseSync(partial)
    try {
      copy.exec(createPart)
      if (existsSync(spoolCopy))
        copy.prepare("insert into backup_parts values ('spool', ?)").run(readFileSync(spoolCopy))
    } finally {
      copy.close()
    }
    renameSync(partial, file)
  } finally {
    for (const left of [partial, spoolCopy]) for (const end of ofOneFile) rmSync(left + end, { force: true })
  }
}

/** @throws BackupFault that names the file, if it is damaged: the operator would look at the database */
async function copySpool(spool: string, file: string, signal: AbortSignal | undefined): Promise<void> {
  try {
    await copySnapshot(spool, file, { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw new BackupFault(
      `the spool ${spool} cannot be copied: ${error instanceof Error ? error.message : String(error)}. ` +
        'Repair it: see "The spool beside SQLite is damaged" in the runbooks',
      { cause: error },
    )
  }
}

/** An open read transaction keeps one state of the database readable: without it, each commit would restart the copy. */
async function copySnapshot(
  source: string,
  file: string,
  { signal, onProgress }: BackupOptions,
): Promise<void> {
  const database = new DatabaseSync(source, { timeout: 10_000 })
  try {
    database.exec('begin')
    database.prepare('select count(*) from sqlite_schema').get()
    // Others on this machine must not read it.
    writeFileSync(file, '', { mode: 0o600 })
    await backup(database, file, {
      rate: pagesPerStep,
      progress: ({ totalPages, remainingPages }) => {
        signal?.throwIfAborted()
        onProgress?.(totalPages - remainingPages, totalPages)
      },
    })
    signal?.throwIfAborted()
  } finally {
    database.close()
  }
}

/** Suffixes of the files that SQLite reads: it would apply a log of another database to the restored one. */
const content = ['', '-wal', '-journal', '-spool', '-spool-wal', '-spool-journal']
/** Suffixes of files that SQLite makes anew. Alone they are harmless. */
const passing = ['-shm', '-spool-shm']

/** The files of a database at `target` that a restore would overwrite or mix up with the backup. */
export function filesInTheWay(target: string): string[] {
  const existing = (ends: readonly string[]): string[] =>
    ends.map((end) => `${target}${end}`).filter((file) => existsSync(file))
  const found = existing(content)
  return found.length === 0 ? [] : [...found, ...existing(passing)]
}

/**
 * Writes a backup to `target`, of which no file may exist: see `filesInTheWay`.
 * @throws BackupFault if the file is not a backup or is damaged; then there is no target
 */
export function restoreSqlite(file: string, target: string): void {
  const partial = `${target}.partial`
  const spoolPartial = `${target}-spool.partial`
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(partial, '', { mode: 0o600 })
    copyFileSync(file, partial)
    const spool = readParts(partial, file)
    if (spool) {
      writeFileSync(spoolPartial, spool, { mode: 0o600 })
      // Before the database, which without its spool would be complete only in appearance.
      renameSync(spoolPartial, `${target}-spool`)
    }
    try {
      renameSync(partial, target)
    } catch (error) {
      if (spool) rmSync(`${target}-spool`)
      throw error
    }
  } finally {
    rmSync(spoolPartial, { force: true })
    for (const end of ofOneFile) rmSync(partial + end, { force: true })
  }
}

/** Checks the copy, and takes the spool out of it. */
function readParts(copy: string, name: string): Uint8Array | undefined {
  const database = new DatabaseSync(copy)
  try {
    const [check] = database.prepare('pragma quick_check').all() as [{ quick_check: string }]
    if (check.quick_check !== 'ok') throw new Error(check.quick_check)
    const part = database.prepare("select content from backup_parts where name = 'spool'").get() as
      | { content: Uint8Array }
      | undefined
    database.exec('drop table backup_parts; vacuum')
    return part?.content
  } catch (error) {
    throw new BackupFault(`${name} is not a backup of Postern, or is damaged: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    database.close()
  }
}
