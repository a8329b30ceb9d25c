import { readFileSync } from 'node:fs'
import { systemClock } from '../runtime/clock.ts'
import { newId } from '../crypto/ids.ts'
import { printableLines } from '../telemetry/printable.ts'
import { call, textToShow } from './call.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { isJson, print } from './output.ts'
import { samples } from '../receiving/samples/index.ts'
import { findSource, localSources } from './local-source.ts'
import type { SampleRequest, SignedSample } from '../receiving/samples/sample.ts'
import { readClientSettings } from './settings.ts'
import { printTable } from './table.ts'

interface SampleOptions {
  secret?: string
  id?: string
  data?: string
}

export interface SendOptions extends SampleOptions {
  source: string
  type: string
}

export interface TriggerOptions extends SampleOptions {
  url?: string
  list?: boolean
}

/** Signs a sample webhook as its sender would and sends it. Exit code 1 unless it was answered by 2xx. */
export async function send(url: string, options: SendOptions): Promise<void> {
  const sign = Object.hasOwn(samples, options.source) ? samples[options.source] : undefined
  if (!sign)
    throw new UsageFailure(`--source takes ${Object.keys(samples).join(', ')}, not ${options.source}`)
  await sendSample(url, options.type, options, (request) =>
    sign({ ...request, secret: options.secret ?? ownSecret() }),
  )
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
  const source = findSource(sources, name, options.secret)
  const given = options.url ?? readClientSettings().service
  const url = given.includes('/webhooks/') ? given : `${given.replace(/\/$/, '')}/webhooks/${name}`
  await sendSample(url, type, options, source.sign)
}

function listSamples(sources: Awaited<ReturnType<typeof localSources>>): void {
  const here = Array.from(sources, ([name, scheme]) => [name, scheme.name, 'source of this project'])
  const presets = Object.keys(samples).filter((name) => !sources.has(name))
  printTable(['name', 'preset', 'secret'], [...here, ...presets.map((name) => [name, name, 'give --secret'])])
}

async function sendSample(
  url: string,
  type: string,
  options: SampleOptions,
  sign: (request: Omit<SampleRequest, 'secret'>) => SignedSample,
): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageFailure(`${url} is not an address such as http://127.0.0.1:3000/webhooks/provider`)
  const data = readData(options.data)
  const now = systemClock.now()
  const { headers, body } = sign({ type, id: options.id ?? newId(now), now, data, url })
  const response = await call(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'manual',
  })
  if (!isJson()) process.stderr.write(`${printableLines(body)}\n`)
  const answer = await textToShow(response)
  print({ url, status: response.status, answer, body }, `${response.status} ${answer}\n`)
  if (!response.ok) process.exitCode = exitCodes.failed.code
}

function ownSecret(): string {
  const { webhookSecret, secretsFile } = readClientSettings()
  if (webhookSecret !== undefined) return webhookSecret
  const demo = secretsFile === undefined ? '' : `, and there is no ${secretsFile} of a service in demo mode`
  throw new CommandFailure(
    `The secret is missing: give --secret, or set WEBHOOK_SECRET. It is not set${demo}.`,
  )
}

/** JSON as it stands, or from a file: `@order.json`. */
function readData(text = '{"sample":true}'): unknown {
  const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new UsageFailure(`--data is not JSON: ${(error as Error).message}`, { cause: error })
  }
}
