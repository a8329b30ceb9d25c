// The thread that writes a spool's file, so that the wait for the disk does not hold up the loop that reads requests.
import { parentPort, workerData } from 'node:worker_threads'
import type { IncomingEvent } from '../incoming.ts'
import { packBatch, unpackBatch, type BatchMessage } from '../sqlite/batch-message.ts'
import { SpoolFile } from '../sqlite/spool-file.ts'
import { describeFailure, type ThreadAnswer } from '../sqlite/thread-client.ts'
import { FileReader, type Range } from './file-reader.ts'
import type { SpoolState } from './spool.ts'

export type Task =
  | { kind: 'append'; batch: BatchMessage }
  | { kind: 'read'; limit: number }
  | { kind: 'remove' | 'give-back'; range: Range }
  | { kind: 'set-aside'; event: Pick<IncomingEvent, 'source' | 'eventId'>; reason: string }
  | { kind: 'state' }
  | { kind: 'close' }

export interface Answer extends ThreadAnswer {
  /** Of `read`. */
  portion?: { batch: BatchMessage; range: Range }
  /** Of `state`. */
  state?: SpoolState
}

export interface SpoolThreadData {
  file: string
  maxBytes: number
}

const port = parentPort!
const { file, maxBytes } = workerData as SpoolThreadData
const spool = new SpoolFile(file, { maxBytes, create: true })
// A thread that begins anew reads from the start: the database knows what was moved already.
const reader = new FileReader(spool)

port.on('message', (task: Task) => {
  const answer: Answer = {}
  let transfer: ArrayBuffer[] = []
  try {
    transfer = carryOut(task, answer)
  } catch (error) {
    answer.failed = describeFailure(error)
  }
  port.postMessage(answer, transfer)
  if (task.kind === 'close') port.close()
})

port.postMessage({} satisfies Answer)

/** Returns what of the answer is transferred. */
function carryOut(task: Task, answer: Answer): ArrayBuffer[] {
  if (task.kind === 'append') spool.add(unpackBatch(task.batch))
  else if (task.kind === 'read') {
    const events = reader.read(task.limit)
    const { message, transfer } = packBatch(events)
    answer.portion = { batch: message, range: { from: events[0]?.seq ?? 0, upTo: events.at(-1)?.seq ?? 0 } }
    return transfer
  } else if (task.kind === 'remove') {
    reader.remove(task.range)
    spool.shrink()
  } else if (task.kind === 'give-back') reader.giveBack(task.range)
  else if (task.kind === 'set-aside') spool.setAside(task.event, task.reason)
  else if (task.kind === 'state')
    answer.state = { events: spool.count, oldest: spool.oldestReceivedAt, full: spool.full }
  else spool.close()
  return []
}
