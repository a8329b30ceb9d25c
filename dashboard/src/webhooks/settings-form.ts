import { fill, words } from '../language/words.ts'
import { readHeaders, writeHeaders } from '../ui/header-lines.ts'
import { linesOf } from '../ui/lines.ts'
import type { Condition, Subscriber, SubscriberChange } from './types.ts'

/** The settings as texts, as the form's fields hold them. */
export interface SettingsForm {
  url: string
  /** Empty: HTTP. */
  destination: string
  /** Those of the destination, as JSON. Empty where they are not shown. */
  settings: string
  secrets: Readonly<Record<string, string>>
  description: string
  eventTypes: readonly string[]
  conditions: string
  operational: boolean
  timeout: string
  concurrency: string
  rateLimit: string
  retrySchedule: string
  headers: string
  ordered: boolean
  signing: Subscriber['signing']
  httpSignature: boolean
  auth: AuthForm
  tls: TlsForm
  method: Subscriber['method']
  successStatuses: string
  noRetryStatuses: string
  gzip: boolean
  signatureHeaders: Subscriber['signatureHeaders']
  body: Subscriber['body']
  channels: string
  uid: string
}

type Auth = NonNullable<Subscriber['auth']>
type Tls = NonNullable<Subscriber['tls']>
export type AuthForm = Record<Exclude<keyof Auth, 'type' | 'clientAuthentication'>, string> &
  Pick<Auth, 'clientAuthentication'> & { type: Auth['type'] | '' }
export type TlsForm = Record<keyof Tls, string>

const noAuth: AuthForm = {
  type: '',
  user: '',
  password: '',
  token: '',
  tokenUrl: '',
  clientId: '',
  clientSecret: '',
  scope: '',
  audience: '',
}
const noTls: TlsForm = { certificate: '', key: '', ca: '' }

/** The fields of each type. */
const authFields = {
  basic: ['user', 'password'],
  bearer: ['token'],
  oauth: ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'audience'],
} as const

/** Settings that the other kind of endpoint does not have. */
const destinationOnly = ['destination', 'settings', 'secrets']
const httpOnly = [
  'url',
  'auth',
  'tls',
  'method',
  'successStatuses',
  'noRetryStatuses',
  'gzip',
  'httpSignature',
  'signatureHeaders',
  'body',
]

/** A new endpoint, before anything is entered. */
export const newForm: SettingsForm = {
  url: '',
  destination: '',
  settings: '{}',
  secrets: {},
  description: '',
  eventTypes: ['*'],
  conditions: '',
  operational: false,
  timeout: '',
  concurrency: '',
  rateLimit: '',
  retrySchedule: '',
  headers: '',
  ordered: false,
  signing: 'v1',
  httpSignature: false,
  auth: noAuth,
  tls: noTls,
  method: 'POST',
  successStatuses: '',
  noRetryStatuses: '',
  gzip: false,
  signatureHeaders: 'webhook',
  body: 'event',
  channels: '',
  uid: '',
}

const numberText = (value: number | null): string => (value === null ? '' : String(value))

export function formOf(subscriber: Omit<Subscriber, 'keys' | 'publicKeys'>): SettingsForm {
  const { url, description, eventTypes, conditions, operational, ordered, signing, httpSignature } =
    subscriber
  const { timeout, concurrency, rateLimit, retrySchedule, headers } = subscriber
  const { destination, settings, secrets } = subscriber
  const { auth, tls, method, successStatuses, noRetryStatuses, gzip } = subscriber
  const { signatureHeaders, body, channels, uid } = subscriber
  return {
    url,
    destination: destination ?? '',
    settings: settings === null ? '' : JSON.stringify(settings, null, 2),
    secrets: secrets ?? {},
    description: description ?? '',
    eventTypes,
    conditions: conditions.map(writeCondition).join('\n'),
    operational,
    timeout: numberText(timeout),
    concurrency: numberText(concurrency),
    rateLimit: numberText(rateLimit),
    retrySchedule: retrySchedule?.join(', ') ?? '',
    headers: writeHeaders(headers),
    ordered,
    signing,
    httpSignature,
    auth: { ...noAuth, ...auth },
    tls: { ...noTls, ...tls },
    method,
    successStatuses: successStatuses?.join(', ') ?? '',
    noRetryStatuses: noRetryStatuses?.join(', ') ?? '',
    gzip,
    signatureHeaders,
    body,
    channels: channels.join(', '),
    uid: uid ?? '',
  }
}

/** The settings that differ, and the fields with a line that cannot be read, if there are any. */
export function changeOf(
  before: SettingsForm,
  after: SettingsForm,
): { change: SubscriberChange & { destination?: string }; faults?: Record<string, string> } {
  const readers: {
    [Name in keyof SettingsForm]: () => SubscriberChange & { destination?: string }
  } = {
    url: () => ({ url: after.url.trim() }),
    destination: () => ({ destination: after.destination }),
    settings: () => ({ settings: readObject(after.settings) }),
    secrets: () => ({
      secrets: Object.fromEntries(Object.entries(after.secrets).filter(([, value]) => value !== '')),
    }),
    description: () => ({ description: after.description.trim() || null }),
    eventTypes: () => ({ eventTypes: [...after.eventTypes] }),
    conditions: () => ({
      conditions: linesOf(after.conditions).map(readCondition),
    }),
    operational: () => ({ operational: after.operational }),
    timeout: () => ({ timeout: readNumber(after.timeout) }),
    concurrency: () => ({ concurrency: readNumber(after.concurrency) }),
    rateLimit: () => ({ rateLimit: readNumber(after.rateLimit) }),
    retrySchedule: () => ({ retrySchedule: readSchedule(after.retrySchedule) }),
    headers: () => ({ headers: readHeaders(after.headers) }),
    ordered: () => ({ ordered: after.ordered }),
    signing: () => ({ signing: after.signing }),
    httpSignature: () => ({ httpSignature: after.httpSignature }),
    auth: () => ({ auth: readAuth(after.auth) }),
    tls: () => ({ tls: readTls(after.tls) }),
    method: () => ({ method: after.method }),
    successStatuses: () => ({ successStatuses: readStatuses(after.successStatuses) }),
    noRetryStatuses: () => ({ noRetryStatuses: readStatuses(after.noRetryStatuses) }),
    gzip: () => ({ gzip: after.gzip }),
    signatureHeaders: () => ({ signatureHeaders: after.signatureHeaders }),
    body: () => ({ body: after.body }),
    channels: () => ({ channels: after.channels.split(/[\s,]+/).filter(Boolean) }),
    uid: () => ({ uid: after.uid.trim() || null }),
  }
  const change: SubscriberChange = {}
  const faults: Record<string, string> = {}
  const others: readonly string[] = after.destination === '' ? destinationOnly : httpOnly
  for (const name of Object.keys(readers) as (keyof SettingsForm)[])
    try {
      if (before[name] !== after[name] && !others.includes(name)) Object.assign(change, readers[name]())
    } catch (error) {
      faults[name] = (error as Error).message
    }
  return Object.keys(faults).length === 0 ? { change } : { change, faults }
}

function readAuth({ type, clientAuthentication, ...texts }: AuthForm): SubscriberChange['auth'] {
  if (type === '') return null
  const given = authFields[type].filter((name) => texts[name] !== '').map((name) => [name, texts[name]])
  const more = type === 'oauth' && clientAuthentication ? { clientAuthentication } : {}
  return { type, ...(Object.fromEntries(given) as Partial<Auth>), ...more }
}

function readTls(texts: TlsForm): SubscriberChange['tls'] {
  const given = Object.entries(texts).filter(([, text]) => text.trim() !== '')
  return given.length === 0 ? null : Object.fromEntries(given)
}

/** The API says what is wrong with one. */
function readStatuses(text: string): SubscriberChange['successStatuses'] {
  const parts = text.split(/[\s,]+/).filter(Boolean)
  return parts.length === 0 ? null : parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}

const readNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text))

function readSchedule(text: string): number[] | null {
  const parts = text.split(/[\s,]+/).filter(Boolean)
  if (parts.length === 0) return null
  const seconds = parts.map(Number)
  if (seconds.some((one) => !Number.isFinite(one)))
    throw new Error('The retry schedule must have numbers only, separated by commas.')
  return seconds
}

function readObject(text: string): Record<string, unknown> {
  const value = readJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(words.settings.settingsWrong)
  return value as Record<string, unknown>
}

export function writeCondition({ path, op, value }: Condition): string {
  return [path, op, ...(value === undefined ? [] : [JSON.stringify(value)])].join(' ')
}

function readCondition(line: string): Condition {
  const [, path = '', op = '', value] = /^(\S*)\s+(\w+)(?:\s+(\S.*))?$/.exec(line) ?? []
  if (op === '') throw new Error(fill(words.settings.conditionWrong, { line }))
  const condition: Condition = { path, op: op as Condition['op'] }
  if (value !== undefined) condition.value = readJson(value) as Condition['value']
  return condition
}

/** JSON, or else the text itself. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
