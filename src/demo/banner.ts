import { createHmac } from 'node:crypto'
import type { CompletedConfiguration } from '../config/generated-secrets.ts'

export interface BannerParts extends CompletedConfiguration {
  baseUrl: string
  /** The absolute path of the file of the generated secrets. */
  secretsFile: string
}

/** The text that demo mode prints when it is ready: links, and three commands that work when pasted. */
export function banner({ configuration, kept, fresh, baseUrl, secretsFile }: BannerParts): string {
  const { webhookSecrets = [], adminApiKey = '' } = configuration
  // Each start has its own id. A command that is pasted twice sends a duplicate, which is processed once.
  const number = Date.now().toString(36)
  const body = `{"id":"evt_${number}","type":"order.paid","data":{"order":"${number}","amount":4200}}`
  const signature = createHmac('sha256', webhookSecrets[0] ?? '')
    .update(body)
    .digest('hex')
  const lines = [
    '',
    '  Postern is running in demo mode: loopback only, lists open, a built-in identity provider, sample data.',
    '  Among the samples are a handler that fails and a subscriber that is down; the log below shows them.',
    '  For production set NODE_ENV=production; the start then names the missing settings.',
    '',
    `  Sign in      ${baseUrl}/login`,
    `  Dashboard    ${baseUrl}/dashboard`,
    `  API          ${baseUrl}/docs`,
    '',
    '  Send a signed webhook, and see it arrive on the dashboard (or in the list below):',
    '',
    `    curl -s -X POST ${baseUrl}/webhooks/provider -H 'content-type: application/json' -H 'x-signature: ${signature}' -d '${body}'`,
    '',
    '  Emit an event of your own: the built-in sample subscriber verifies it and prints it below:',
    '',
    `    curl -s -X POST ${baseUrl}/events -H "authorization: Bearer ${keyInShell()}" -H 'content-type: application/json' -d '{"type":"order.shipped","data":{"order":"42"}}'`,
    '',
    '  List what came and went, or the sample products:',
    '',
    `    curl -s '${baseUrl}/events?order=desc&limit=5'`,
    `    curl -s '${baseUrl}/products?category=kitchen&sort=-price&limit=3'`,
    '',
  ]
  if (fresh) {
    lines.push(`  Secrets were generated and stored in ${secretsFile}. They are shown only once:`, '')
    if (kept.includes('WEBHOOK_SECRET')) lines.push(`    WEBHOOK_SECRET=${webhookSecrets[0]}`)
    if (kept.includes('ADMIN_API_KEY')) lines.push(`    ADMIN_API_KEY=${adminApiKey}`)
    lines.push('')
  }
  return lines.join('\n')

  /** The key at the first start; at later ones, a command that reads it from its file or the environment. */
  function keyInShell(): string {
    if (!kept.includes('ADMIN_API_KEY')) return '$ADMIN_API_KEY'
    return fresh ? adminApiKey : `$(sed -n 's/.*"ADMIN_API_KEY": "\\(.*\\)".*/\\1/p' '${secretsFile}')`
  }
}
