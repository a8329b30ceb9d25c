// Runs in the thread of a TaskThread.
import { parentPort, workerData } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import type { TaskAnswer } from './task-thread.ts'

type Tasks = Record<string, (argument: unknown) => unknown>

const port = parentPort!
const { module, data } = workerData as { module: string; data: unknown }
const { open } = (await import(module)) as { open: (data: unknown) => Tasks }
const tasks = open(data)

port.on('message', ({ name, argument }: { name: string; argument: unknown }) => {
  port.postMessage(answerOf(() => tasks[name]!(argument)))
  if (name === 'close') port.close()
})

function answerOf(task: () => unknown): TaskAnswer {
  try {
    return { result: task() }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const isUnavailable = error instanceof StorageUnavailable
    const { message } = isUnavailable && error.cause instanceof Error ? error.cause : error
    return { failed: { isUnavailable, message, stack: error.stack } }
  }
}
