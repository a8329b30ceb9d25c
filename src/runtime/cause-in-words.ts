/** An error's message; of several attempts to connect, each one's. */
export function causeInWords(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(causeInWords).join(', ')
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}
