import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ThreadClient } from './thread-client.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

test('messages that are no answers do not answer a task, as with --watch', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'thread.mjs')
  const server = new URL('thread-server.ts', import.meta.url).href
  writeFileSync(
    file,
    `import { parentPort } from 'node:worker_threads'
     import { serveTasks } from ${JSON.stringify(server)}
     parentPort.postMessage({ 'watch:import': ['file:///module.ts'] })
     serveTasks({ double: (number) => 2 * number, close: () => undefined })`,
  )
  interface Tasks {
    double: (number: number) => number
    close: () => void
  }
  const thread = new ThreadClient<Tasks>({ module: pathToFileURL(file), name: 'double', workerData: null })
  try {
    assert.deepEqual(await Promise.all([thread.call('double', 1), thread.call('double', 2)]), [2, 4])
  } finally {
    await thread.close()
  }
})
