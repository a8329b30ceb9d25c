import { presentEvent } from '../present.ts'
import type { EventRow } from '../store.ts'
import type { Topic } from './topics.ts'

/** Messages as bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html), written once for all viewers. */
export const heartbeat = Buffer.from(': heartbeat\n\n')

/** The first message of each connection. @param retryAfter milliseconds after which a browser connects again */
export function helloMessage(position: number, retryAfter: number): Buffer {
  return Buffer.from(`retry: ${retryAfter}\n${text('hello', { position }, position)}`)
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
