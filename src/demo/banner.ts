import { createHmac } from 'node:crypto'
import { posternCommand } from '../code-folder.ts'
import type { CompletedConfiguration } from '../config/generated-secrets.ts'

interface BannerParts extends CompletedConfiguration {
  baseUrl: string
  /** The absolute path of the file of the generated secrets. */
  secretsFile: string
  /** The file that ADMIN_API_KEY was read from, such as `.env`. Shells do not know it from there. */
  keyFile?: string | undefined
  /** Of a project: the names of the sources that it declares. A project has no samples. */
  sources?: readonly string[] | undefined
}

/** The text that demo mode prints when it is ready: links, and commands that work when pasted. */
export function banner(parts: BannerParts): string {
  const { baseUrl, sources } = parts
  const { demo } = parts.configuration
  const what = sources
    ? 'a built-in identity provider.'
    : 'lists open, a built-in identity provider, sample data.'
  const lines = [
    '',
    demo
      ? `  Postern is running in demo mode: loopback only, ${what}`
      : '  Postern is running in development mode, without sample data: BASE_URL is not a loopback address.',
    ...(demo && !sources
      ? [
          '  Opening a page starts the samples. Among them are a handler and an endpoint that fail on purpose.',
        ]
      : []),
    '  For production set NODE_ENV=production; the start then lists the missing settings.',
    '',
    `  Sign in      ${baseUrl}/login`,
    `  Dashboard    ${baseUrl}/dashboard`,
    `  Guide        ${baseUrl}/docs/guide/`,
    `  API          ${baseUrl}/docs`,
    ...(sources?.length ? forSources(baseUrl, sources) : forProvider(parts)),
    ...newSecrets(parts),
  ]
  return lines.join('\n')
}

function forSources(baseUrl: string, sources: readonly string[]): string[] {
  return [
    ...sources.map(
      (name, index) => `  ${index === 0 ? 'Webhooks' : '        '}     ${baseUrl}/webhooks/${name}`,
    ),
    '',
    `  Send a signed sample: ${posternCommand} trigger ${sources[0]} TYPE --data JSON`,
    '',
  ]
}

/** Commands that work with the source and the lists that are always there. */
function forProvider(parts: BannerParts): string[] {
  const { configuration, stored, fresh, baseUrl, secretsFile, keyFile, sources } = parts
  const hasSamples = configuration.demo && sources === undefined
  const { webhookSecrets = [], adminApiKey = '' } = configuration
  // Each start has its own id. A command that is pasted twice sends a duplicate, which is processed once.
  const number = Date.now().toString(36)
  const body = `{"id":"evt_${number}","type":"order.paid","data":{"order":"${number}","amount":4200}}`
  const signature = createHmac('sha256', webhookSecrets[0] ?? '')
    .update(body)
    .digest('hex')
  return [
    '',
    '  Send a signed webhook. The dashboard and the log show it:',
    '',
    `    curl -s -X POST ${baseUrl}/webhooks/provider -H 'content-type: application/json' -H 'x-signature: ${signature}' -d '${body}'`,
    '',
    `  Emit an event${hasSamples ? '. The sample endpoint verifies it and prints it below' : ''}:`,
    '',
    `    curl -s -X POST ${baseUrl}/events -H "authorization: Bearer ${keyInShell()}" -H 'content-type: application/json' -d '{"type":"order.shipped","data":{"order":"42"}}'`,
    '',
    `  List events${hasSamples ? ' or sample products' : ''}:`,
    '',
    `    curl -s '${baseUrl}/events?order=desc&limit=5'${configuration.demo ? '' : ` -H "authorization: Bearer ${keyInShell()}"`}`,
    ...(hasSamples ? [`    curl -s '${baseUrl}/products?category=kitchen&sort=-price&limit=3'`] : []),
    '',
  ]

  /** The key at the first start; at later ones, a command that reads it from its file or the environment. */
  function keyInShell(): string {
    if (!stored.includes('ADMIN_API_KEY'))
      return keyFile === undefined ? '$ADMIN_API_KEY' : `$(sed -n 's/^ADMIN_API_KEY=//p' '${keyFile}')`
    return fresh ? adminApiKey : `$(sed -n 's/.*"ADMIN_API_KEY": "\\(.*\\)".*/\\1/p' '${secretsFile}')`
  }
}

function newSecrets({ configuration, stored, fresh, secretsFile }: BannerParts): string[] {
  if (!fresh) return []
  const { webhookSecrets, adminApiKey } = configuration
  const shown = [
    ...(stored.includes('WEBHOOK_SECRET') ? [`    WEBHOOK_SECRET=${webhookSecrets?.[0]}`] : []),
    ...(stored.includes('ADMIN_API_KEY') ? [`    ADMIN_API_KEY=${adminApiKey}`] : []),
  ]
  // The master key alone is of no use to a reader.
  if (shown.length === 0) return [`  A master key was generated and stored in ${secretsFile}.`, '']
  return [
    `  Secrets were generated and stored in ${secretsFile}. They are shown only once:`,
    '',
    ...shown,
    '',
  ]
}
