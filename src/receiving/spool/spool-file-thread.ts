// The thread that writes the file of a spool.
import { workerData } from 'node:worker_threads'
import { serveTasks } from '../../storage/sqlite/thread-server.ts'
import { packEvents, type PackedEvents, unpackEvents } from '../queue/store.ts'
import { SpoolFile } from '../sqlite/spool-file.ts'

const { file, maxBytes } = workerData as { file: string; maxBytes: number }
const spool = new SpoolFile(file, { maxBytes, create: true })

const tasks = {
  /** False if the spool is full. */
  append: (rows: PackedEvents): boolean => spool.add(unpackEvents(rows)),
  read(limit: number): { rows: PackedEvents; seqs: number[] } {
    const events = spool.oldest(limit)
    return { rows: packEvents(events), seqs: events.map(({ seq }) => seq) }
  },
  remove({ seqs, rejected }: { seqs: readonly number[]; rejected: string | undefined }): void {
    if (rejected !== undefined) for (const seq of seqs) spool.setAside(seq, rejected)
    spool.forget(seqs)
    spool.shrink()
  },
  size: () => ({ entries: spool.count, oldest: spool.oldestReceivedAt, full: spool.full }),
  close: (): void => spool.close(),
}

export type SpoolFileTasks = typeof tasks

serveTasks(tasks)
