// The thread that writes the file of a spool.
import { workerData } from 'node:worker_threads'
import type { PackedRows } from '../../storage/sqlite/packed-rows.ts'
import { serveTasks } from '../../storage/sqlite/thread-server.ts'
import { packEvents, unpackEvents } from '../queue/event-rows.ts'
import { SpoolFile } from '../sqlite/spool-file.ts'
import type { SpoolState } from './spool.ts'

/** Numbers of events in the file, both included. */
interface Range {
  readonly from: number
  readonly to: number
}

const { file, maxBytes } = workerData as { file: string; maxBytes: number }
const spool = new SpoolFile(file, { maxBytes, create: true })
/**
 * The number of the last event that was read. A thread that was started again begins at the start: the database ignores events
 * that it has already.
 */
let position = 0

/** Lets a portion be read again. Later ones that are held are read again with it. */
function releaseEvents({ from }: Range): void {
  position = Math.min(position, from - 1)
}

const tasks = {
  /** False if the spool is full. */
  append: (rows: PackedRows): boolean => spool.add(unpackEvents(rows)),
  read(limit: number): { rows: PackedRows; seqs: number[] } {
    const events = spool.oldest(limit, position)
    const seqs = events.map(({ seq }) => seq)
    position = seqs.at(-1) ?? position
    return { rows: packEvents(events), seqs }
  },
  /** Deletes a portion; one that cannot be deleted is given back. */
  remove(range: Range): void {
    try {
      spool.forgetBetween(range.from, range.to)
    } catch (error) {
      releaseEvents(range)
      throw error
    }
    spool.shrink()
  },
  releaseEvents,
  setAside: ({ seq, reason }: { seq: number; reason: string }): void => spool.setAside(seq, reason),
  state: (): SpoolState => ({ events: spool.count, oldest: spool.oldestReceivedAt, full: spool.full }),
  close: (): void => spool.close(),
}

export type SpoolFileTasks = typeof tasks

serveTasks(tasks)
