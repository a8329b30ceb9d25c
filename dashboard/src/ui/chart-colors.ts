import { useEffect, useState } from 'react'

export type ChartColor = 'accent' | 'danger' | 'warn' | 'info' | 'soft' | 'line' | 'ink'

/**
 * The value of a colour of the theme, as a canvas takes it. It is read from a probe, because the theme uses `light-dark()`.
 * @param percent of opacity
 */
export function colorOf(name: ChartColor, within: Element, percent = 100): string {
  const probe = document.createElement('span')
  probe.style.color = `color-mix(in srgb, var(--color-${name}) ${percent}%, transparent)`
  within.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** A number that changes when the colours of the page do. */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0)
  useEffect(() => {
    const change = (): void => setVersion((before) => before + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', change)
    const chosen = new MutationObserver(change)
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => {
      system.removeEventListener('change', change)
      chosen.disconnect()
    }
  }, [])
  return version
}
