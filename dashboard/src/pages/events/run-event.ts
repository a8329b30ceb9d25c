import { api } from '../../api/client.ts'

/** Milliseconds between two looks at the event, and for which its result is awaited. */
const every = 400
const patience = 20_000

/** Runs the handlers of an event now. Returns what came of it, for a toast. */
export async function runEvent(id: string): Promise<string> {
  const read = () => api.get('/events/{id}', { params: { id } })
  const before = (await read()).processing?.attempts ?? 0
  await api.post('/events/{id}/reprocess', { params: { id }, body: {} })
  for (const until = Date.now() + patience; Date.now() < until;) {
    const { status, processing } = await read()
    if (status === 'processed') return 'The handler succeeded'
    if (processing && !processing.running && processing.attempts > before) {
      const error = processing.failures.at(-1)?.error.split('\n', 1)[0]
      return `The handler failed again${error === undefined ? '' : `: ${error}`}`
    }
    await new Promise((resolve) => setTimeout(resolve, every))
  }
  return 'The handler is still running. This page shows the result when it ends.'
}
