import { readFileSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { ConfigurationError } from '../../config/environment.ts'
import type { Settings } from '../../config/settings.ts'
import type { App } from '../app.ts'
import { escapeHtml, type Site } from './html.ts'

declare module 'fastify' {
  interface FastifyInstance {
    site: Site
  }
}

const logoTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
}
/** Bytes. It is loaded before a person can sign in. */
const largestLogo = 100_000
/** Seconds. The addresses do not change with the brand. */
const maxAge = 300

type BrandSettings = Pick<
  Settings,
  'brandName' | 'brandLogo' | 'brandColor' | 'brandTermsUrl' | 'brandPrivacyUrl' | 'brandSupport'
>

/**
 * Decorates the application with its `site`, and serves its logo and colours.
 * @throws ConfigurationError if the logo cannot be read, is too large or of an unknown type
 */
export function serveBrand(app: App, settings: BrandSettings): void {
  const { brandName, brandLogo, brandColor, brandTermsUrl, brandPrivacyUrl, brandSupport } = settings
  const { basePath } = app
  app.decorate('site', {
    basePath,
    name: escapeHtml(brandName),
    plainName: brandName,
    logo: `${basePath}${brandLogo === undefined ? '/assets/icon.svg' : '/assets/brand-logo'}`,
    colored: brandColor !== undefined,
    links: { terms: brandTermsUrl, privacy: brandPrivacyUrl, support: brandSupport },
  })
  const config = { access: 'public' } as const
  const cached = `public, max-age=${maxAge}`
  if (brandLogo !== undefined) {
    const { bytes, type } = readLogo(brandLogo)
    app.get('/assets/brand-logo', { config, schema: { hide: true } }, async (_request, reply) =>
      reply
        .header('cache-control', cached)
        // An SVG that is opened by itself is a document: it must not run scripts in the origin of the service.
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        .type(type)
        .send(bytes as never),
    )
  }
  const style = brandColor === undefined ? '' : brandStyle(brandColor)
  app.get('/assets/brand.css', { config, schema: { hide: true } }, async (_request, reply) =>
    reply.header('cache-control', cached).type('text/css; charset=utf-8').send(style),
  )
}

function brandStyle(color: string): string {
  const variables = Object.entries(brandVariables(color))
  return `:root{${variables.map(([name, value]) => `${name}:${value}`).join(';')}}\n`
}

function readLogo(path: string): { bytes: Buffer; type: string } {
  const fault = (text: string): ConfigurationError => new ConfigurationError([`BRAND_LOGO is wrong: ${text}`])
  const type = logoTypes[extname(path).toLowerCase()]
  if (!type) throw fault(`expected a file that ends in ${Object.keys(logoTypes).join(', ')}`)
  const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: -1 }
  if (size < 0) throw fault('there is no such file')
  if (size > largestLogo) throw fault(`the file has more than ${largestLogo} bytes`)
  return { bytes: readFileSync(path), type }
}

/** The shades of a brand's colour, as `#rrggbb`. */
interface BrandShades {
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
