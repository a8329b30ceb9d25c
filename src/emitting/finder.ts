import { contains, mostFound, type Finder, type Found } from '../http/finder.ts'
import type { Database } from '../storage/database.ts'
import type { EventCatalogue } from './events/event-catalogue.ts'

/** Subscribers whose addresses are searched, the newest. */
const mostSearched = 2_000

/** Finds subscribers by id, host, owner or description, owners by id or display name, deliveries by number, and declared event types. */
export function emittingFinder({ readerAside: reader }: Database, catalogue: EventCatalogue): Finder {
  return {
    scope: 'subscribers:read',
    async find(text) {
      const all = await readSubscribers(reader)
      const subscribers = all.filter(
        ({ id, url, owner, description }) =>
          id === text ||
          // Parsing 2,000 addresses takes longer than reading them.
          (contains(url, text) && contains(new URL(url).host, text)) ||
          contains(owner, text) ||
          contains(description, text) ||
          url === text,
      )
      const types = catalogue.entries.filter(({ type }) => contains(type, text)).slice(0, mostFound)
      return [
        ...(await findDelivery(reader, text)),
        ...subscribers.slice(0, mostFound).map(describe),
        ...(await findOwners(reader, all, text)),
        ...types.map(({ type, description }): Found => ({
          kind: 'event-type',
          id: type,
          title: type,
          detail: description ?? null,
        })),
      ]
    },
  }
}

function readSubscribers(reader: Database['reader']) {
  return reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'owner', 'description', 'status'])
    .orderBy('id', 'desc')
    .limit(mostSearched)
    .execute()
}

type Row = Awaited<ReturnType<typeof readSubscribers>>[number]

function describe({ id, url, owner, description, status }: Row): Found {
  const detail = [owner, description, status].filter(Boolean).join(' · ')
  return { kind: 'subscriber', id, title: new URL(url).host, detail }
}

async function findOwners(
  reader: Database['reader'],
  subscribers: readonly Row[],
  text: string,
): Promise<Found[]> {
  const named = await reader.selectFrom('owner_names').select(['owner', 'name']).limit(mostSearched).execute()
  const names = new Map(named.map(({ owner, name }) => [owner, name]))
  const owners = new Set([...subscribers.map(({ owner }) => owner), ...names.keys()])
  return [...owners]
    .filter((owner) => owner !== null)
    .filter((owner) => contains(owner, text) || contains(names.get(owner) ?? null, text))
    .slice(0, mostFound)
    .map((owner) => {
      const name = names.get(owner)
      return { kind: 'customer', id: owner, title: name ?? owner, detail: name === undefined ? null : owner }
    })
}

async function findDelivery(reader: Database['reader'], text: string): Promise<Found[]> {
  if (!/^[1-9]\d{0,15}$/.test(text)) return []
  const row = await reader
    .selectFrom('deliveries')
    // A removed subscriber's deliveries are deleted by and by.
    .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
    .select(['deliveries.id', 'subscriber_id', 'deliveries.status'])
    .where('deliveries.id', '=', Number(text))
    .executeTakeFirst()
  if (!row) return []
  const detail = `${row.status} · subscriber ${row.subscriber_id}`
  return [{ kind: 'delivery', id: text, title: `Delivery ${text}`, detail }]
}
