import { useSyncExternalStore } from 'react'

const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'postern-theme'
const listeners = new Set<() => void>()

function read(): Theme {
  try {
    const kept = localStorage.getItem(key)
    return themes.find((theme) => theme === kept) ?? 'system'
  } catch {
    // Storage is forbidden, as in some frames: the system decides.
    return 'system'
  }
}

let current = read()

/** Applies the kept theme to the page. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = current
}

export function setTheme(theme: Theme): void {
  current = theme
  try {
    localStorage.setItem(key, theme)
  } catch {
    // It then lasts as long as this page.
  }
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
