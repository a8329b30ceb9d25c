import { useSyncExternalStore } from 'react'

/** What the address shows: an endpoint, one of its tabs, and a delivery. */
const names = ['endpoint', 'tab', 'status', 'delivery'] as const
export type Place = { readonly [Name in (typeof names)[number]]?: string }

const listeners = new Set<() => void>()
let current = read()

function read(): Place {
  const search = new URLSearchParams(location.search)
  return Object.fromEntries(names.flatMap((name) => (search.get(name) ? [[name, search.get(name)!]] : [])))
}

function changed(): void {
  current = read()
  for (const listener of listeners) listener()
}

addEventListener('popstate', changed)

/** Goes to a place; "back" returns. Other parameters of the address stay. */
export function goTo(place: Place): void {
  const url = new URL(location.href)
  for (const name of names) {
    const value = place[name]
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  history.pushState(null, '', url)
  changed()
}

export function usePlace(): Place {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
