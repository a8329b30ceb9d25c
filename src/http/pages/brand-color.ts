/** The shades of a brand's colour, as `#rrggbb`. */
export interface BrandShades {
  light: Shade
  dark: Shade
}

interface Shade {
  /** For texts and areas. */
  accent: string
  /** For text on an area of the accent. */
  on: string
}

type Rgb = readonly [number, number, number]

/** The contrast of normal text (WCAG 2.2, 1.4.3). */
export const leastContrast = 4.5

/** The darkest background of the light theme, and the lightest of the dark theme (dashboard/src/style.css). */
const grounds = { light: '#efede6', dark: '#242b2e' } as const
const [white, black] = ['#ffffff', '#0b0f0e'] as const

/**
 * Adapts a colour to both themes: it is darkened on the light ground and lightened on the dark one in steps of 2 % until text of
 * this colour has the contrast that WCAG asks for.
 * @param color `#rrggbb`
 */
export function brandShades(color: string): BrandShades {
  return { light: shade(color, grounds.light, '#000000'), dark: shade(color, grounds.dark, '#ffffff') }
}

/** The colour as CSS custom properties: `--accent` for pages.css, `--color-accent` for the built pages. */
export function brandVariables(color: string): Record<string, string> {
  const { light, dark } = brandShades(color)
  const accent = `light-dark(${light.accent},${dark.accent})`
  const on = `light-dark(${light.on},${dark.on})`
  return {
    '--accent': accent,
    '--on-accent': on,
    '--color-accent': accent,
    '--color-accent-ink': on,
    '--color-accent-tint': `light-dark(${grounds.light},${grounds.dark})`,
  }
}

function shade(color: string, ground: string, towards: string): Shade {
  let accent = color
  for (let part = 0; part <= 1; part += 0.02) {
    accent = mix(color, towards, part)
    if (contrast(accent, ground) >= leastContrast) break
  }
  return { accent, on: contrast(accent, white) >= contrast(accent, black) ? white : black }
}

/** The ratio of contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red, green, blue] = rgb(color).map((value) => {
    const part = value / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(color: string, towards: string, part: number): string {
  const other = rgb(towards)
  const mixed = rgb(color).map((value, index) => Math.round(value + (other[index]! - value) * part))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function rgb(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as unknown as Rgb
}
