import type { AnswerOf as Answer, Calls } from 'postern-client/api'

/** The answer of a call of the service. */
export type AnswerOf<Name extends keyof Calls> = Answer<Calls[Name]>
