import { statSync } from 'node:fs'
import { StorageUnavailable } from '../unavailable.ts'

/**
 * Watches that a path still leads to the file that was opened. A file that was deleted or replaced under an open
 * connection takes every write, and loses it.
 */
export class FileInPlace {
  readonly #file: string
  readonly #identity: string | undefined

  constructor(file: string) {
    this.#file = file
    this.#identity = identityOf(file)
  }

  /** @throws StorageUnavailable when the file is gone or is another one. Costs a system call. */
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
