import type { EventDetail } from './use-event.ts'

export type StepTone = 'ok' | 'danger' | 'info' | 'plain'

/** Something that happened at a time, or took from one time to another. Milliseconds since 1970. */
export interface Step {
  from: number
  to: number
  tone: StepTone
  /** The same in words: for screen readers, and as a tooltip. */
  text: string
  /** It is only planned. */
  planned?: boolean
}

/** One line of the picture. */
export interface Lane {
  key: string
  label: string
  /** A page of what the line is about. */
  link?: { to: '/subscribers/$id' | '/events/$id'; id: string }
  steps: Step[]
}

const time = (value: string): number => Date.parse(value)

function point(value: string, text: string, tone: StepTone = 'ok'): Step {
  return { from: time(value), to: time(value), tone, text }
}

/** The way of an event: who sent it, how it was handled, what it caused, and where that went. */
export function lanesOf(event: EventDetail): Lane[] {
  return [
    ...event.causes.toReversed().flatMap(causeLane),
    ...receivedLanes(event),
    ...event.emitted.flatMap(({ id, type, eventId, createdAt, status }): Lane[] =>
      createdAt === null
        ? []
        : [
            {
              key: `emitted ${id}`,
              label: type ?? eventId,
              link: { to: '/events/$id', id: String(id) },
              steps: [point(createdAt, `emitted ${type ?? ''} ${eventId}, ${status ?? ''}`)],
            },
          ],
    ),
    ...[...event.deliveries, ...event.emittedDeliveries].map(deliveryLane),
    ...event.returned.flatMap(returnedLane),
  ].filter(({ steps }) => steps.length > 0)
}

/** An event before this one in the chain of causes. */
function causeLane({
  id,
  eventId,
  direction,
  type,
  source,
  createdAt,
}: EventDetail['causes'][number]): Lane[] {
  if (createdAt === null) return []
  const text = direction === 'received' ? `received from ${source ?? 'a source'}` : 'emitted'
  return [
    {
      key: `cause ${id}`,
      label: type ?? eventId,
      link: { to: '/events/$id', id: String(id) },
      steps: [point(createdAt, `${text}: ${eventId}`, 'plain')],
    },
  ]
}

/** A delivery of this event that came back to a source. */
function returnedLane({ id, eventId, source, createdAt, status }: EventDetail['returned'][number]): Lane[] {
  if (createdAt === null) return []
  return [
    {
      key: `returned ${id}`,
      label: `Received from ${source}`,
      link: { to: '/events/$id', id: String(id) },
      steps: [point(createdAt, `received as ${eventId}, ${status}`)],
    },
  ]
}

function receivedLanes(event: EventDetail): Lane[] {
  const { verification, createdAt, direction, source, processing } = event
  if (direction === 'emitted') return [{ key: 'emitted', label: 'Emitted', steps: emittedSteps(event) }]
  const sent = verification?.signedAt
  const secret = verification?.secret
  const verified = verification
    ? `verified by ${verification.scheme}${secret ? `, secret ${secret}` : ''}, and stored`
    : 'stored'
  return [
    {
      key: 'sender',
      label: source ?? 'Sender',
      steps: sent ? [signedStep(sent, createdAt)] : [],
    },
    { key: 'stored', label: 'Verified, stored', steps: [point(createdAt, verified)] },
    { key: 'handler', label: 'Handler', steps: processing ? handlerSteps(processing) : [] },
  ]
}

function emittedSteps({ createdAt, deliverAt, canceledAt, status }: EventDetail): Step[] {
  if (deliverAt === undefined) return [point(createdAt, 'sent and stored')]
  const steps = [point(createdAt, 'stored')]
  if (canceledAt !== null) return [...steps, point(canceledAt, 'canceled', 'plain')]
  const planned = status === 'scheduled'
  return [...steps, { ...point(deliverAt, planned ? 'scheduled' : 'sent', planned ? 'info' : 'ok'), planned }]
}

/** The clock of the sender may be ahead of that of the service. */
function signedStep(sent: string, stored: string): Step {
  const [from, to] = [time(sent), time(stored)].toSorted((a, b) => a - b) as [number, number]
  return { from, to, tone: 'plain', text: 'signed by the sender' }
}

function handlerSteps({
  failures,
  processedAt,
  nextAttemptAt,
  attempts,
}: NonNullable<EventDetail['processing']>): Step[] {
  const steps: Step[] = failures.flatMap(({ number, at, durationMs, error }) => {
    if (at === null) return []
    const text = `attempt ${number} failed after ${durationMs} ms: ${error.split('\n', 1)[0]}`
    return [{ from: time(at), to: time(at) + durationMs, tone: 'danger', text }]
  })
  if (processedAt !== null)
    steps.push(
      attempts === 0
        ? point(processedAt, 'no handler for this type', 'plain')
        : point(processedAt, `attempt ${attempts} succeeded`),
    )
  if (nextAttemptAt !== null) steps.push({ ...point(nextAttemptAt, 'next attempt', 'info'), planned: true })
  return steps
}

/** Several subscribers may be at one host. */
export const subscriberName = ({
  subscriberDescription,
  subscriberHost,
}: Pick<EventDetail['deliveries'][number], 'subscriberDescription' | 'subscriberHost'>): string =>
  subscriberDescription ?? subscriberHost

function deliveryLane(delivery: EventDetail['deliveries'][number]): Lane {
  const { id, subscriberId, attemptLog, nextAttemptAt } = delivery
  const steps: Step[] = attemptLog.map(({ number, at, durationMs, status, error, failure }) => {
    const ok = failure === null && error === null
    const result = ok ? `HTTP ${status}` : (error ?? `HTTP ${status}`)
    return {
      from: time(at),
      to: time(at) + durationMs,
      tone: ok ? 'ok' : 'danger',
      text: `attempt ${number} ${result}, ${durationMs} ms`,
    }
  })
  if (nextAttemptAt !== null) steps.push({ ...point(nextAttemptAt, 'next attempt', 'info'), planned: true })
  return {
    key: `delivery ${id}`,
    label: subscriberName(delivery),
    link: { to: '/subscribers/$id', id: subscriberId },
    steps,
  }
}

/** Where times stand on the axis, from 0 to 1. */
export interface Scale {
  /** The first time. */
  start: number
  at: (time: number) => number
  /** Times to write below the axis, with their distance from the first. */
  ticks: { at: number; after: number }[]
}

/**
 * An axis on which milliseconds and days are both visible: the distance between two neighbouring times grows with the logarithm of
 * what lies between them.
 */
export function scaleOf(lanes: readonly Lane[]): Scale {
  const times = [
    ...new Set(lanes.flatMap(({ steps }) => steps.flatMap(({ from, to }) => [from, to]))),
  ].toSorted((a, b) => a - b)
  const [first = 0] = times
  const places = new Map<number, number>([[first, 0]])
  let place = 0
  for (const [at, time] of times.slice(1).entries())
    places.set(time, (place += Math.log10(1 + time - times[at]!)))
  const at = (time: number): number => (place === 0 ? 0 : (places.get(time) ?? 0) / place)
  return { start: first, at, ticks: ticksOf(times, at) }
}

const mostTicks = 6
/** The least distance between two ticks. */
const apart = 0.13

function ticksOf(times: readonly number[], at: (time: number) => number): Scale['ticks'] {
  const [first = 0] = times
  const last = times.at(-1) ?? first
  const ticks = [{ at: 0, after: 0 }]
  for (const time of times) {
    const isFree = at(time) - ticks.at(-1)!.at >= apart && (1 - at(time) >= apart || time === last)
    if (isFree && ticks.length < mostTicks) ticks.push({ at: at(time), after: time - first })
  }
  return ticks
}
