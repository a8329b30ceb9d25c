import type { AnswerOf, BodyOf, RowOf } from '../api/answers.ts'

export type SubscriberRow = RowOf<'GET /subscribers'>
export type Subscriber = AnswerOf<'GET /subscribers/{id}'>
export type SubscriberChange = BodyOf<'PATCH /subscribers/{id}'>
export type Condition = Subscriber['conditions'][number]

/** What each state means, in a sentence. */
export const meaningOf: Record<Subscriber['state'], string> = {
  active: 'Its last attempts succeeded, or failed no more than twice for one delivery.',
  idle: 'Nothing was sent to it in the last day.',
  failing: 'Its deliveries fail, and none has succeeded since.',
  paused: 'Its events wait. They are sent when you resume it.',
  disabled: 'Nothing is sent to it, and its events are not kept for it.',
}
