import { presentEvent } from '../present.ts'
import type { EventRow } from '../store.ts'
import type { Topic } from './topics.ts'

/** Messages as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html), written once for all viewers. */
export const heartbeat = Buffer.from(': heartbeat\n\n')

/**
 * The first message of each connection.
 * @param options.retryAfter milliseconds after which a browser connects again
 * @param options.resumes whether events up to `position` follow: then the message has no id, so that a viewer that is cut off before they
 *   came asks for them again
 */
export function helloMessage(
  position: number,
  { retryAfter, resumes }: { retryAfter: number; resumes: boolean },
): Buffer {
  const hello = text('hello', { position }, resumes ? undefined : position)
  return Buffer.from(`retry: ${retryAfter}\n${hello}`)
}

/** A new event, or one whose status changed. @param position the newest event that was sent, from which a viewer resumes */
export function eventMessage(row: EventRow, position: number): Buffer {
  return Buffer.from(text('event', presentEvent(row), position))
}

export function changedMessage(topics: Iterable<Topic>): Buffer {
  return Buffer.from(text('changed', { topics: [...topics].toSorted() }))
}

/** More events came than are sent one by one: pages read what they show again. */
export function gapMessage(position: number): Buffer {
  return Buffer.from(text('gap', { position }, position))
}

function text(name: string, data: object, id?: number): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}
