import { statSync } from 'node:fs'
import { StorageUnavailable } from '../unavailable.ts'

/**
 * Checks that a path still leads to the opened file. If a file is deleted or replaced under an open connection, writes succeed and
 * are lost.
 */
export class FileInPlace {
  readonly #file: string
  readonly #identity: string | undefined

  constructor(file: string) {
    this.#file = file
    this.#identity = identityOf(file)
  }

  /** Makes a system call. @throws StorageUnavailable if the file was removed or replaced */
  check(): void {
    if (identityOf(this.#file) === this.#identity) return
    throw new StorageUnavailable(
      new Error(
        `${this.#file} was removed or replaced while it was open: put it back, or start the service again`,
      ),
    )
  }
}

function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
