import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { StorageUnavailable } from '../unavailable.ts'

/** A file that is open in this process: its path, and its identity at that time. */
export interface OpenFile {
  readonly file: string
  readonly identity: string | undefined
}

/**
 * Checks that a path still leads to the opened file. If a file is deleted or replaced under an open connection, writes succeed and
 * are lost.
 */
export class FileInPlace {
  readonly opened: OpenFile

  /** @param opened what other connections have open; by default what the path leads to now */
  constructor(file: string, opened: OpenFile = { file, identity: identityOf(file) }) {
    this.opened = opened
  }

  /** Makes a system call. @throws StorageUnavailable if the file was removed or replaced */
  check(): void {
    const { file, identity } = this.opened
    if (identityOf(file) === identity) return
    throw new StorageUnavailable(
      new Error(`${file} was removed or replaced while it was open: put it back, or start the service again`),
    )
  }
}

/** The address that opens an existing file and never creates one (https://sqlite.org/uri.html). */
export function existing(file: string): URL {
  const url = pathToFileURL(file)
  url.searchParams.set('mode', 'rw')
  return url
}

function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
