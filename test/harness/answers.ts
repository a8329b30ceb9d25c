import type { Calls } from '../../packages/client/src/api/calls.ts'

/** The body of an answer, as the schema of its route describes it: `AnswerTo<'GET /users/{id}'>`. */
export type AnswerTo<Call extends keyof Calls> = Calls[Call]['answer']
