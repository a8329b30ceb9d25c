import { UsageFailure } from './command-failure.ts'
import { print, printTable } from './output.ts'
import { serviceClient, type ClientOptions } from './service-client.ts'

export interface ListEventsOptions extends ClientOptions {
  type?: string
  source?: string
  status?: string
}

interface Page {
  data: {
    id: number
    eventId: string
    type: string
    source: string | null
    status: string
    createdAt: string
    deliverAt?: string
  }[]
}

/** Events of one list, the most that a page has. */
const mostListed = 100

/** Prints the newest events that match the options. */
export async function listEvents({ type, source, status, ...options }: ListEventsOptions): Promise<void> {
  const query = new URLSearchParams({ order: 'desc', limit: String(mostListed) })
  for (const [name, value] of Object.entries({ type, source, status }))
    if (value !== undefined) query.set(name, value)
  const response = await serviceClient(options).request(`/events?${query.toString()}`)
  const { data } = (await response.json()) as Page
  const rows = data.map((event) => [
    event.id,
    event.eventId,
    event.type,
    event.status,
    event.source,
    new Date(event.createdAt),
    event.deliverAt === undefined ? null : new Date(event.deliverAt),
  ])
  printTable(['number', 'id', 'type', 'status', 'source', 'created', 'deliver at'], rows)
}

/** Cancels a scheduled event, by its number. */
export async function cancelEvent(event: string, options: ClientOptions): Promise<void> {
  if (!/^[1-9]\d*$/.test(event)) throw new UsageFailure(`${event} is not an event number`)
  await serviceClient(options).request(`/events/${event}`, { method: 'DELETE' })
  print({ event: Number(event), canceled: true }, `Event ${event} is canceled.\n`)
}
