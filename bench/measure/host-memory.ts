import { randomBytes } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFolder } from '../harness/databases.ts'

/** Bytes: more than a round writes. */
const taken = 450 * 1024 * 1024
const piece = Buffer.alloc(1024 * 1024, 1)

/**
 * Takes memory from the host of a virtual machine, and gives it back to the kernel, which has it for what is written next. A machine that
 * hands free memory back (https://docs.kernel.org/mm/free_page_reporting.html) gets it again page by page: measured on one, 10 µs for
 * every 4 KiB, which whoever writes a file would pay, and who writes none would not. Elsewhere it is a tenth of a second.
 */
export async function takeHostMemory(): Promise<void> {
  const name = join(diskFolder(), `postern-bench-${randomBytes(6).toString('hex')}`)
  const file = await open(name, 'wx')
  try {
    // It is gone whatever ends this process.
    await unlink(name)
    for (let written = 0; written < taken; written += piece.length) await file.write(piece)
  } finally {
    await file.close()
  }
}
