import { parseExactly } from '../json/exact.ts'
import { readTextFile } from '../runtime/text-file.ts'
import { systemClock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { printableLines } from '../telemetry/printable.ts'
import { adviceOnAddress, call, textToShow } from './service-client.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { isJson, print, printTable } from './output.ts'
import { type SampleRequest, samples, type SignedSample } from '../receiving/samples/index.ts'
import { findSource, localSources } from './local-source.ts'
import { readClientSettings } from './settings.ts'

interface SampleOptions {
  secret?: string
  id?: string
  data?: string
}

interface SendOptions extends SampleOptions {
  source: string
  type: string
}

interface TriggerOptions extends SampleOptions {
  url?: string
  list?: boolean
}

/** Signs a sample webhook as its sender would and sends it. Exit code 1 unless it was answered by 2xx. */
export async function send(url: string, options: SendOptions): Promise<void> {
  const sign = Object.hasOwn(samples, options.source) ? samples[options.source] : undefined
  if (!sign)
    throw new UsageFailure(`--source takes ${Object.keys(samples).join(', ')}, not ${options.source}`)
  // First: what is wrong with the other options is said before a missing secret.
  const webhook = readWebhook(url, options.type, options)
  const { secret, from } =
    options.secret === undefined ? ownSecret() : { secret: options.secret, from: '--secret' }
  await post(url, sign({ ...webhook, secret }), { secretFrom: from })
}

/** As `send`, to a source of this project, with its secret and at its address. */
export async function trigger(
  name: string | undefined,
  type: string | undefined,
  options: TriggerOptions,
): Promise<void> {
  const sources = await localSources()
  if (options.list) return listSamples(sources)
  if (name === undefined || type === undefined)
    throw new UsageFailure('name a source and a type, such as `postern trigger stripe invoice.paid`')
  const sign = findSource(sources, name, options.secret)
  const given = options.url ?? readClientSettings().service
  const url = given.includes('/webhooks/') ? given : `${given.replace(/\/$/, '')}/webhooks/${name}`
  await post(url, sign(readWebhook(url, type, options)), {
    secretFrom: options.secret === undefined ? `that of the source ${name} in this project` : '--secret',
    showsUrl: true,
    advice: options.url === undefined ? adviceOnAddress : undefined,
  })
}

function listSamples(sources: Awaited<ReturnType<typeof localSources>>): void {
  const here = Array.from(sources, ([name, scheme]) => [name, scheme.name, 'source of this project'])
  const presets = Object.keys(samples).filter((name) => !sources.has(name))
  printTable(['name', 'preset', 'secret'], [...here, ...presets.map((name) => [name, name, 'pass --secret'])])
}

/** @throws UsageFailure for an address or data that cannot be sent */
function readWebhook(url: string, type: string, options: SampleOptions): Omit<SampleRequest, 'secret'> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageFailure(`${url} is not a URL such as http://127.0.0.1:3000/webhooks/provider`)
  const data = readData(options.data)
  const now = systemClock.now()
  return { type, id: options.id ?? newId(now), now, data, url }
}

interface PostOptions {
  /** Where the secret comes from, in words. */
  secretFrom: string
  /** Whether to print the address, because the user did not type it. */
  showsUrl?: boolean
  /** A sentence for the case that nobody answers. */
  advice?: string | undefined
}

async function post(
  url: string,
  { headers, body }: SignedSample,
  { secretFrom, showsUrl = false, advice }: PostOptions,
): Promise<void> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'manual',
  }
  const response = await call(url, init, advice)
  if (!isJson()) process.stderr.write(`${printableLines(body)}\n${showsUrl ? `POST ${url}\n` : ''}`)
  const answer = await textToShow(response)
  print({ url, status: response.status, answer, body }, `${response.status} ${answer}\n`)
  if (response.ok) return
  process.exitCode = exitCodes.failed.code
  if (response.status === 401 && !isJson()) process.stderr.write(adviceOnSignature(secretFrom))
}

/** The answer holds no reason, because a sender who has no secret must learn none. */
function adviceOnSignature(secretFrom: string): string {
  return (
    `The service rejected the signature. The secret used here is ${secretFrom}; most likely the service has another one for this\n` +
    'source. Pass that one with --secret. The reason is on the dashboard under Sources.\n'
  )
}

/** The secret of this environment, and where it comes from, in words. @throws CommandFailure without one */
function ownSecret(): { secret: string; from: string } {
  const { webhookSecret, webhookSecretFrom, secretsFile } = readClientSettings()
  if (webhookSecret !== undefined) return { secret: webhookSecret, from: webhookSecretFrom }
  const demo = secretsFile === undefined ? '' : `, and there is no ${secretsFile} of a service in demo mode`
  throw new CommandFailure(
    `The secret is missing: pass --secret, or set WEBHOOK_SECRET. It is not set${demo}.`,
  )
}

/** JSON as it stands, or from a file: `@order.json`. */
function readData(text = '{"sample":true}'): unknown {
  const json = text.startsWith('@') ? readTextFile(text.slice(1)) : text
  try {
    return parseExactly(json)
  } catch (error) {
    throw new UsageFailure(`--data is not JSON: ${(error as Error).message}`, { cause: error })
  }
}
