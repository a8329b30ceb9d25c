import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** The file system in memory that Linux has. */
const inMemory = '/dev/shm'

/**
 * Where the databases of tests are made: in memory where the system has that much room there, else in its temporary folder. They
 * need not survive a power cut, and wait for no disk.
 */
export function memoryFolder(room: number): string {
  if (!existsSync(inMemory)) return tmpdir()
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize > room ? inMemory : tmpdir()
}
