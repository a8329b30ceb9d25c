import { CompiledQuery } from 'kysely'
import { prepare } from './statement.ts'

/**
 * Inserts as one statement, which has one answer and is atomic by itself. None of them sees the rows of another; foreign keys are
 * checked at the end (https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING).
 */
export function joinInserts(inserts: readonly CompiledQuery[]): CompiledQuery {
  let before = 0
  const texts = inserts.map(({ sql, parameters }) => {
    const text = sql.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + before}`)
    before += parameters.length
    return text
  })
  const last = texts.pop()
  const others = texts.map((text, index) => `insert_${index} as (${text})`)
  const text = others.length === 0 ? last! : `with ${others.join(', ')} ${last}`
  return prepare(
    CompiledQuery.raw(
      text,
      inserts.flatMap(({ parameters }) => [...parameters]),
    ),
  )
}
