// The thread that stores received events, so that neither the inserts nor the wait for the disk hold up the loop that
// reads requests. It does one task after the other; what each one left in the spool goes back with the answer.
import { parentPort, workerData } from 'node:worker_threads'
import { unpackBatch, type BatchMessage } from './batch-message.ts'
import { EventWriter } from './event-writer.ts'
import { describeFailure, type ThreadAnswer } from './thread-client.ts'

export type Task =
  | { kind: 'insert'; batch: BatchMessage; mayWrite: boolean }
  | { kind: 'move' }
  | { kind: 'close' }

export interface Answer extends ThreadAnswer {
  spooled: number
  /** Of `move`: whether it had the write lock. */
  moved?: boolean
}

const port = parentPort!
const writer = new EventWriter((workerData as { file: string }).file)

port.on('message', (task: Task) => {
  const answer: Answer = { spooled: 0 }
  try {
    if (task.kind === 'insert') writer.insert(unpackBatch(task.batch), task.mayWrite)
    else if (task.kind === 'move') answer.moved = writer.move()
    else writer.close()
  } catch (error) {
    answer.failed = describeFailure(error)
  }
  answer.spooled = writer.spooled
  port.postMessage(answer)
  if (task.kind === 'close') port.close()
})

// What a start finds in the spool is to be moved.
port.postMessage({ spooled: writer.spooled } satisfies Answer)
