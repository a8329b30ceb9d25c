import { useQuery } from '@tanstack/react-query'
import { errorOfResponse } from 'postern-client/api'
import { fetchForPerson } from '../../api/activity.ts'
import type { AnswerOf } from '../../api/answers.ts'
import { addressOf } from '../../api/client.ts'

export type EventDetail = AnswerOf<'GET /events/{id}'>

export interface LoadedEvent {
  event: EventDetail
  /** The payload as it came, with the digits of great numbers; undefined if it is no JSON. */
  payload: string | undefined
}

/** Stands before the payload, which is the last field. No string of JSON contains it unescaped. */
const beforePayload = '],"payload":'

/** One event with everything that its page shows; read again when it changes. */
export function useEvent(id: string) {
  return useQuery({
    queryKey: ['event', id],
    queryFn: async ({ signal }): Promise<LoadedEvent> => {
      const response = await fetchForPerson(addressOf(`/events/${encodeURIComponent(id)}`), { signal })
      if (!response.ok) throw await errorOfResponse(response)
      const text = await response.text()
      const at = text.indexOf(beforePayload)
      const payload = at === -1 ? undefined : text.slice(at + beforePayload.length, -1)
      return { event: JSON.parse(text) as EventDetail, payload }
    },
  })
}

/** Whether a handler can be run for it now. */
export const canRun = ({ direction, status }: EventDetail): boolean =>
  direction === 'received' && ['failed', 'retrying', 'pending', 'blocked'].includes(status)
