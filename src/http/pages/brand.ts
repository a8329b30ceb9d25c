import { readFileSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { ConfigurationError } from '../../config/environment.ts'
import type { Settings } from '../../config/settings.ts'
import type { App } from '../app.ts'
import { brandVariables } from './brand-color.ts'
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
