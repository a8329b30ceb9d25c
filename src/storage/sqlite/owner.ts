import { DatabaseSync } from 'node:sqlite'
import { createPrivately } from './files.ts'

/** Another process serves the same SQLite file. */
export class FileInUse extends Error {
  /** @param advice what to do, beside stopping that process. */
  constructor(file: string, advice = 'set DATABASE_URL to another file or to PostgreSQL') {
    super(
      `Another process is serving ${file}. An SQLite file can be served by only one process: stop that process, or ${advice}.`,
    )
    this.name = 'FileInUse'
  }
}

/**
 * Makes this process the only one that serves a file, until the returned function is called or the process ends. It locks an
 * empty SQLite file beside it (`<file>-owner`), which the system unlocks even after a kill. Programs that use the database only
 * briefly (imports, key commands) do not need this.
 * @throws FileInUse
 */
export function claimFile(file: string): () => void {
  createPrivately(`${file}-owner`)
  const owner = new DatabaseSync(`${file}-owner`, { timeout: 0 })
  try {
    owner.exec('begin exclusive')
  } catch (error) {
    owner.close()
    if ((error as { errcode?: number }).errcode === 5) throw new FileInUse(file)
    throw error
  }
  return () => owner.close()
}
