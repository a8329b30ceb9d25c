import type { Client, QueryConfig, QueryResult } from 'pg'
import type { ClosingStatement } from '../../transaction-over.ts'
import { translateError } from '../../unavailable.ts'
import { toResult } from '../driver/statement.ts'

/**
 * Commits in one round trip with the closing statement, if any.
 * @param send sends the closing statement
 * @throws the error of the closing statement, or of the commit
 */
export async function commitOn(
  client: Client,
  commit: QueryConfig,
  closing?: ClosingStatement,
  send?: () => Promise<QueryResult>,
): Promise<void> {
  const failure = closing && settle(closing, send!())
  failure?.catch(() => undefined)
  const { command } = await client.query(commit)
  // If a statement of the transaction failed, the server answers COMMIT with ROLLBACK instead of an error.
  if (command === 'COMMIT') return
  await failure
  throw new Error('a statement in the transaction failed, so it was rolled back')
}

async function settle(closing: ClosingStatement, answer: Promise<QueryResult>): Promise<void> {
  try {
    closing.succeed(toResult(await answer))
  } catch (error) {
    throw closing.fail(translateError(error))
  }
}
