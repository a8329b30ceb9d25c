import { CommandFailure } from './command-failure.ts'
import { causeInWords } from './describe-error.ts'

/** Milliseconds for the whole exchange. */
const limit = 15_000

/** As fetch, within 15 seconds. @throws CommandFailure that names the address and the cause when nobody answers. */
export async function call(url: string | URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(limit) })
  } catch (error) {
    const { name, cause } = error as Error
    const why =
      name === 'TimeoutError' ? `nothing came within ${limit / 1000} seconds` : causeInWords(cause ?? error)
    throw new CommandFailure(`${String(url)} does not answer: ${why}`, { cause: error })
  }
}
