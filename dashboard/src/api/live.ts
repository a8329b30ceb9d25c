import { useEffect, useSyncExternalStore } from 'react'
import type { RowOf } from './answers.ts'
import { addressOf } from './client.ts'
import type { Query } from '@tanstack/react-query'
import { queryClient } from './queries.ts'

/** How the page hears of changes. `lost`: the connection broke and is being opened again. */
export type Connection = 'closed' | 'open' | 'lost'

/** An event as `GET /events` shows it. */
export type LiveEvent = RowOf<'GET /events'>

/** Milliseconds before the first attempt to connect again; each further one waits twice as long. */
const firstWait = 1_000
const longestWait = 30_000
/** A tab that nobody sees gives its connection back after this time. */
const hiddenFor = 60_000
/** Milliseconds for which changes are collected before pages read again. */
const collectFor = 300

/** Keys of queries that depend on further topics than their own. */
const alsoAbout: Readonly<Record<string, readonly string[]>> = {
  failures: ['attention', 'handlers', 'sources', 'event'],
  deliveries: ['attention', 'event'],
  sources: ['attention', 'rejected'],
  subscribers: ['attention', 'owners'],
  customers: ['owners'],
  keys: ['attention'],
  apps: ['clients'],
  data: ['lists'],
}

const state = {
  connection: 'closed' as Connection,
  source: undefined as EventSource | undefined,
  wait: firstWait,
  timer: undefined as ReturnType<typeof setTimeout> | undefined,
  hidden: undefined as ReturnType<typeof setTimeout> | undefined,
  position: undefined as number | undefined,
}
const listeners = new Set<() => void>()
const eventListeners = new Set<(event: LiveEvent) => void>()
const gapListeners = new Set<() => void>()
const changed = new Set<string>()

function setConnection(connection: Connection): void {
  if (state.connection === connection) return
  state.connection = connection
  for (const listener of listeners) listener()
}

function connect(): void {
  clearTimeout(state.timer)
  state.source?.close()
  const source = (state.source = new EventSource(addressOf('/live')))
  source.addEventListener('hello', ({ data }) => onHello(data as string))
  source.addEventListener('event', ({ data }) => onEvent(JSON.parse(data as string) as LiveEvent))
  source.addEventListener('changed', ({ data }) =>
    onChanged((JSON.parse(data as string) as { topics: string[] }).topics),
  )
  source.addEventListener('gap', readAllAgain)
  source.addEventListener('error', () => {
    setConnection('lost')
    // Otherwise the browser connects again by itself.
    if (source.readyState === EventSource.CLOSED) connectLater()
  })
}

function connectLater(): void {
  clearTimeout(state.timer)
  // Spread, so that all tabs do not come back in the same moment.
  state.timer = setTimeout(connect, state.wait * (0.5 + Math.random() / 2))
  state.wait = Math.min(longestWait, state.wait * 2)
}

function onHello(data: string): void {
  const { position } = JSON.parse(data) as { position: number }
  const before = state.position
  state.position = position
  state.wait = firstWait
  setConnection('open')
  if (before !== undefined && before !== position) readAllAgain()
}

function onEvent(event: LiveEvent): void {
  state.position = Math.max(state.position ?? 0, event.id)
  for (const listener of eventListeners) listener(event)
  onChanged([`event ${event.id}`, 'home'])
}

function onChanged(topics: readonly string[]): void {
  if (changed.size === 0) setTimeout(readChanged, collectFor)
  for (const topic of topics) for (const about of [topic, ...(alsoAbout[topic] ?? [])]) changed.add(about)
}

function readChanged(): void {
  const about = new Set(changed)
  changed.clear()
  void readAgain(
    ({ queryKey: [first, second] }) =>
      typeof first === 'string' &&
      (about.has(first) || (first === 'event' && about.has(`event ${String(second)}`))),
  )
}

/**
 * Reads again what is shown of the queries that `predicate` names. Reads that are under way go on, "Show more" among them; they may
 * have missed the change, so those queries are read once more when they have ended.
 */
async function readAgain(predicate: (query: Query) => boolean): Promise<void> {
  const running = new Set(queryClient.getQueryCache().findAll({ predicate, fetchStatus: 'fetching' }))
  await refetch(predicate)
  if (running.size > 0) await refetch((query) => running.has(query))
}

async function refetch(predicate: (query: Query) => boolean): Promise<void> {
  const isPaged = ({ meta }: Query): boolean => meta?.['paged'] === true
  const options = { cancelRefetch: false }
  await Promise.all([
    queryClient.invalidateQueries({ predicate: (query) => !isPaged(query) && predicate(query) }, options),
    queryClient.refetchQueries(
      { predicate: (query) => isPaged(query) && predicate(query), type: 'active' },
      options,
    ),
  ])
}

function readAllAgain(): void {
  for (const listener of gapListeners) listener()
  // The list of events says that there are newer ones, and does not read all of its pages again.
  const others = new Set<unknown>(['session', 'events'])
  void readAgain(({ queryKey }) => !others.has(queryKey[0]))
}

function onVisibility(): void {
  clearTimeout(state.hidden)
  if (document.visibilityState === 'hidden') state.hidden = setTimeout(() => state.source?.close(), hiddenFor)
  else if (state.source?.readyState === EventSource.CLOSED) connect()
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    document.addEventListener('visibilitychange', onVisibility)
    connect()
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    document.removeEventListener('visibilitychange', onVisibility)
    clearTimeout(state.timer)
    clearTimeout(state.hidden)
    state.source?.close()
    state.connection = 'closed'
  }
}

/** The state of the live connection, for the sign in the header. The tab is connected while this is used. */
export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => state.connection)
}

/**
 * Calls `onEvent` for each new event and each whose status changed, and `onGap` when events may have been missed.
 * Both must keep their identity.
 */
export function useLiveEvents(onEvent: (event: LiveEvent) => void, onGap: () => void): void {
  useEffect(() => {
    eventListeners.add(onEvent)
    gapListeners.add(onGap)
    return () => {
      eventListeners.delete(onEvent)
      gapListeners.delete(onGap)
    }
  }, [onEvent, onGap])
}
