import type { RowOf } from '../api/answers.ts'
import { api } from '../api/client.ts'
import { findInGuide, findSettings } from './found-guide.ts'
import { readStored, writeStored } from '../ui/storage.ts'
import { adminPlaces, userPlaces } from './navigation.ts'

/** An entry of the palette: a page, or something that was found. */
export interface Entry {
  /** Unique among the entries. */
  key: string
  /** The heading that it stands below. */
  group: string
  title: string
  detail: string | null
  /** The address below /dashboard, or below the service when `isOutside`. */
  to: string
  isOutside?: boolean
}

/** Finds entries for a text that is not empty. */
type Source = (text: string, signal: AbortSignal) => Promise<readonly Entry[]>

/** What the palette searches. */
const sources: readonly Source[] = [findInService, findSettings, findInGuide]

/** What all sources find. One that fails finds nothing. */
export async function search(text: string, signal: AbortSignal): Promise<Entry[]> {
  const found = await Promise.allSettled(sources.map((source) => source(text, signal)))
  return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
}

type Found = RowOf<'GET /search'>

const kinds: Record<Found['kind'], [group: string, address: (id: string) => string]> = {
  event: ['Events', (id) => `/events/${id}`],
  'order-key': ['Events with this order key', (id) => `/events?orderKey=${id}`],
  delivery: ['Deliveries', (id) => `/deliveries/${id}`],
  subscriber: ['Endpoints', (id) => `/subscribers/${id}`],
  customer: ['Customers', (id) => `/customers/${id}`],
  'event-type': ['Event types', (id) => `/event-types/${id}`],
  source: ['Sources', (id) => `/sources/${id}`],
  handler: ['Handlers', (id) => `/handlers/${id}`],
  user: ['Users', (id) => `/users/${id}`],
  session: ['Users by session', (id) => `/users/${id}`],
  app: ['Apps', (id) => `/apps/${id}`],
  key: ['API keys', () => '/system/keys'],
}

async function findInService(text: string, signal: AbortSignal): Promise<Entry[]> {
  const { data } = await api.get('/search', { query: { q: text }, signal })
  return data.map(({ kind, id, title, detail }) => {
    const [group, address] = kinds[kind]
    return { key: `${kind} ${id} ${title}`, group, title, detail, to: address(encodeURIComponent(id)) }
  })
}

/** Pages whose name contains the text. */
function pagesFor(text: string): Entry[] {
  return [...adminPlaces, ...userPlaces]
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

/** The entries below their headings, in the order of the first of each. */
export const groupsOf = (entries: readonly Entry[]): { label: string; items: Entry[] }[] =>
  [...new Set(entries.map(({ group }) => group))].map((label) => ({
    label,
    items: entries.filter(({ group }) => group === label),
  }))
