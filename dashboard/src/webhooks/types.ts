import type { AnswerOf, BodyOf, RowOf } from '../api/answers.ts'

export type SubscriberRow = RowOf<'GET /subscribers'>
export type Subscriber = AnswerOf<'GET /subscribers/{id}'>
export type SubscriberChange = BodyOf<'PATCH /subscribers/{id}'>
export type Condition = Subscriber['conditions'][number]

/** What each state means, in a sentence. */
export const meaningOf: Record<Subscriber['state'], string> = {
  active: 'Its latest attempts succeeded, or no delivery failed more than twice.',
  idle: 'Nothing was sent in the last 24 hours.',
  failing: 'A delivery failed three times, and none has succeeded since.',
  paused: 'Its events wait and are sent when you resume it.',
  disabled: 'Nothing is sent, and new events are not stored for it.',
}
