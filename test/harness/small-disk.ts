// A disk that is quickly full: a tmpfs of a few megabytes.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  /** Takes all that is free. */
  fill(): void
  /** Gives it back. */
  free(): void
  unmount(): void
}

/** The disk, or why this machine cannot have one. */
export function mountSmallDisk(megabytes: number): SmallDisk | string {
  if (process.platform !== 'linux') return 'a small disk is mounted as a tmpfs, which only Linux has'
  const folder = mkdtempSync(join(tmpdir(), 'postern-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', folder], {
      stdio: 'pipe',
    })
  } catch (error) {
    rmdirSync(folder)
    return `this user may not mount a tmpfs: ${error instanceof Error ? error.message.trim() : String(error)}`
  }
  const filler = join(folder, 'filler')
  const unmount = (): void => {
    process.off('exit', unmount)
    // Lazily: a test that failed may leave files open.
    execFileSync('umount', ['-l', folder])
    rmdirSync(folder)
  }
  process.once('exit', unmount)
  return {
    folder,
    fill() {
      const file = openSync(filler, 'a')
      try {
        for (const block of [Buffer.alloc(64 * 1024), Buffer.alloc(1)]) while (takes(file, block));
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount,
  }
}

function takes(file: number, block: Buffer): boolean {
  try {
    return writeSync(file, block) > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
