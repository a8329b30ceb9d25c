import { readFileSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { ConfigurationError } from '../config/environment.ts'
import { newId } from '../crypto/ids.ts'
import { readConfiguration } from './configuration.ts'
import { samples } from './samples/index.ts'

export interface SendOptions {
  source: string
  type: string
  secret?: string
  id?: string
  data?: string
}

/** Signs a sample webhook as its sender would and sends it. Exit code 1 unless it was answered by 2xx. */
export async function send(url: string, options: SendOptions): Promise<void> {
  const sign = samples[options.source]
  if (!sign)
    throw new ConfigurationError([`--source takes ${Object.keys(samples).join(', ')}, not ${options.source}`])
  if (!URL.canParse(url))
    throw new ConfigurationError([`${url} is not an address such as http://127.0.0.1:3000/webhooks/provider`])
  const secret = options.secret ?? (await readConfiguration()).configuration.webhookSecrets?.[0]
  if (!secret) throw new ConfigurationError(['--secret is missing, and WEBHOOK_SECRET is not set either'])
  const now = systemClock.now()
  const { headers, body } = sign({
    type: options.type,
    secret,
    id: options.id ?? newId(now),
    now,
    data: readData(options.data),
  })
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(15_000),
  })
  process.stderr.write(`${body}\n`)
  process.stdout.write(`${response.status} ${(await response.text()).slice(0, 2000)}\n`)
  if (!response.ok) process.exitCode = 1
}

/** JSON as it stands, or from a file: `@order.json`. */
function readData(text = '{"sample":true}'): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text)
  } catch (error) {
    throw new ConfigurationError([`--data is not JSON: ${(error as Error).message}`])
  }
}
