// Tasks of the thread that writes the file of a spool.
import type { PackedRows } from '../../storage/sqlite/packed-rows.ts'
import { packEvents, unpackEvents } from '../event-rows.ts'
import { SpoolFile } from '../sqlite/spool-file.ts'
import { FileReader, type Range } from './file-reader.ts'
import type { SpoolState } from './spool.ts'

export function open({ file, maxBytes }: { file: string; maxBytes: number }) {
  const spool = new SpoolFile(file, { maxBytes, create: true })
  // A thread that was started again reads from the start: the database ignores events that it has already.
  const reader = new FileReader(spool)
  return {
    /** False if the spool is full. */
    append: (rows: PackedRows): boolean => spool.add(unpackEvents(rows)),
    read(limit: number): { rows: PackedRows; seqs: number[] } {
      const events = reader.read(limit)
      return { rows: packEvents(events), seqs: events.map(({ seq }) => seq) }
    },
    remove(range: Range): void {
      reader.remove(range)
      spool.shrink()
    },
    giveBack: (range: Range): void => reader.giveBack(range),
    setAside: ({ seq, reason }: { seq: number; reason: string }): void => spool.setAside(seq, reason),
    state: (): SpoolState => ({ events: spool.count, oldest: spool.oldestReceivedAt, full: spool.full }),
    close: (): void => spool.close(),
  }
}

export type FileTasks = ReturnType<typeof open>
