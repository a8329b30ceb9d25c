// The side of a helper process (processes.ts is its parent's). It ends when its parent does.
process.on('disconnect', () => process.exit())

/** What the parent started this process with. */
export function parametersOf<T>(): T {
  return JSON.parse(process.argv[2] ?? '{}') as T
}

/** Tells the parent that the questions may begin. */
export function ready(value: unknown = {}): void {
  process.send?.({ value })
}

/** Answers the parent's questions. */
export function answer<Ask>(handle: (question: Ask) => unknown): void {
  process.on('message', (question) => {
    void (async () => {
      try {
        process.send?.({ value: await handle(question as Ask) })
      } catch (error) {
        process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      }
    })()
  })
}
