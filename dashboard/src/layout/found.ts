import type { RowOf } from '../api/answers.ts'
import { readStored, writeStored } from '../ui/storage.ts'
import { adminPlaces } from './navigation.ts'

/** An entry of the palette: a page, or something that was found. */
export interface Entry {
  /** Unique among the entries. */
  key: string
  group: string
  title: string
  detail: string | null
  /** The address below /dashboard. */
  to: string
}

type Found = RowOf<'GET /search'>

const kinds: Record<Found['kind'], [group: string, address: (id: string) => string]> = {
  event: ['Events', (id) => `/events/${id}`],
  'order-key': ['Events', (id) => `/events?orderKey=${id}`],
  delivery: ['Deliveries', (id) => `/deliveries/${id}`],
  subscriber: ['Endpoints', (id) => `/subscribers/${id}`],
  customer: ['Customers', (id) => `/customers/${id}`],
  'event-type': ['Event types', (id) => `/event-types/${id}`],
  source: ['Sources', (id) => `/sources/${id}`],
  handler: ['Handlers', (id) => `/handlers/${id}`],
  user: ['Users', (id) => `/users/${id}`],
  session: ['Devices', (id) => `/users/${id}`],
  app: ['Apps', (id) => `/apps/${id}`],
  key: ['API keys', () => '/system/keys'],
}

export function entryOf({ kind, id, title, detail }: Found): Entry {
  const [group, address] = kinds[kind]
  return { key: `${kind} ${id} ${title}`, group, title, detail, to: address(encodeURIComponent(id)) }
}

/** Pages whose name contains the text. */
function pagesFor(text: string): Entry[] {
  return adminPlaces
    .flatMap(({ places }) => places)
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ to, label }) => ({ key: `page ${to}`, group: 'Pages', title: label, detail: null, to }))
}

const storageKey = 'postern-recent'
const mostRecent = 8

/** Pages opened from the palette, the newest first. */
function recentEntries(): Entry[] {
  try {
    const stored = JSON.parse(readStored(storageKey) ?? '[]') as Entry[]
    return stored.map((entry) => Object.assign(entry, { group: 'Recent' }))
  } catch {
    return []
  }
}

export function rememberEntry(entry: Entry): void {
  const others = recentEntries().filter(({ key }) => key !== entry.key)
  writeStored(storageKey, JSON.stringify([entry, ...others].slice(0, mostRecent)))
}

/** The entries for a text, each once. Without a text, the recent ones come first. */
export function entriesFor(text: string, found: readonly Entry[]): Entry[] {
  const all = text === '' ? [...recentEntries(), ...pagesFor('')] : [...pagesFor(text), ...found]
  const keys = new Set<string>()
  return all.filter(({ key }) => !keys.has(key) && keys.add(key))
}
