import { useSyncExternalStore } from 'react'
import { readStored, writeStored } from '../ui/storage.ts'

const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'postern-theme'
const listeners = new Set<() => void>()

function read(): Theme {
  const stored = readStored(key)
  return themes.find((theme) => theme === stored) ?? 'system'
}

let current = read()

/** Applies the stored theme to the page. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = current
}

export function setTheme(theme: Theme): void {
  current = theme
  writeStored(key, theme)
  applyTheme()
  for (const listener of listeners) listener()
}

export const nextTheme = (theme: Theme): Theme => themes[(themes.indexOf(theme) + 1) % themes.length]!

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
