import type { DeliveryDetail, Made } from '../../webhooks/attempt.tsx'

const computed = new Set([
  'webhook-timestamp',
  'webhook-signature',
  'svix-timestamp',
  'svix-signature',
  'signature',
  'signature-input',
  'content-digest',
  // The body of the command is not compressed.
  'content-encoding',
])

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * A command that sends the request of an attempt again. It signs again with the endpoint's secret, which the shell reads from
 * WEBHOOK_SECRET: receivers reject old signatures.
 */
export function curlOf(
  { payload, eventId, subscriberUrl }: DeliveryDetail,
  attempt: Made | undefined,
): string {
  const shown = Object.entries(attempt?.requestHeaders ?? { 'content-type': 'application/json' })
  const headers = shown.filter(([name]) => !computed.has(name) && !/^(webhook|svix)-id$/.test(name))
  const prefixes = ['webhook', 'svix'].filter(
    (prefix) => attempt?.requestHeaders[`${prefix}-id`] !== undefined,
  )
  const method = attempt === undefined || attempt.method === 'POST' ? '' : `-X ${attempt.method} `
  return [
    `# WEBHOOK_SECRET is the endpoint's secret: whsec_…`,
    `id=${quoted(eventId)}; now=$(date +%s); body=${quoted(attempt?.requestBody ?? payload)}`,
    `key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')`,
    `signature=$(printf '%s.%s.%s' "$id" "$now" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)`,
    `curl -i ${method}${quoted(attempt?.url ?? subscriberUrl)} \\`,
    ...headers.map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\`),
    ...(prefixes.length === 0 ? ['webhook'] : prefixes).map(
      (prefix) =>
        `  -H "${prefix}-id: $id" -H "${prefix}-timestamp: $now" -H "${prefix}-signature: v1,$signature" \\`,
    ),
    `  --data-binary "$body"`,
  ].join('\n')
}
