import { randomBytes } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFolder } from '../harness/databases.ts'

/** Bytes: more than a round writes. */
const taken = 450 * 1024 * 1024
const piece = Buffer.alloc(1024 * 1024, 1)

/**
 * Takes memory from the host of a virtual machine and gives it back to the kernel, which uses it for the next writes. A machine that returns free
 * memory to its host (https://docs.kernel.org/mm/free_page_reporting.html) gets it again page by page: 10 µs for every 4 KiB, measured on
 * one. Only the variants that write files would pay for that. On other machines this call takes a tenth of a second.
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
