import type { AnswerOf as Answer, Calls } from 'postern-client/api'

/** The answer of a call of the service. */
export type AnswerOf<Name extends keyof Calls> = Answer<Calls[Name]>
/** One row of the answer of a list. */
export type RowOf<Name extends keyof Calls> = Calls[Name] extends { answer: { data: readonly (infer Row)[] } }
  ? Row
  : never
/** The body that a call sends. */
export type BodyOf<Name extends keyof Calls> = Calls[Name] extends { body?: infer Body } ? Body : never

export type EventRow = RowOf<'GET /events'>
export type UserDetail = AnswerOf<'GET /users/{id}'>
export type AppDetail = AnswerOf<'GET /clients/{id}'>
export type Source = AnswerOf<'GET /sources/{name}'>
export type DryRun = AnswerOf<'POST /events/{id}/dry-run'>
