import { parentPort } from 'node:worker_threads'
import { StorageUnavailable } from '../unavailable.ts'
import type { TaskAnswer } from './thread-client.ts'

/** Carries out the tasks of a `ThreadClient`, in its thread. */
export function serveTasks(tasks: object): void {
  const port = parentPort!
  const taskOf = tasks as Record<string, (argument: unknown) => unknown>
  port.on('message', ({ name, argument }: { name: string; argument: unknown }) => {
    port.postMessage(answerOf(() => taskOf[name]!(argument)))
    if (name === 'close') port.close()
  })
}

function answerOf(task: () => unknown): TaskAnswer {
  try {
    return { result: task() }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const isUnavailable = error instanceof StorageUnavailable
    const reason: Error & { errcode?: number } =
      isUnavailable && error.cause instanceof Error ? error.cause : error
    const { message, errcode } = reason
    return { failed: { isUnavailable, message, stack: error.stack, errcode } }
  }
}
