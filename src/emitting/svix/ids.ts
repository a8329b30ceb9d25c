import { hash } from 'node:crypto'
import { newId } from '../../crypto/ids.ts'
import type { EventOwner } from '../subscribers/owner-directory.ts'

// Svix's ids are a prefix and 27 digits in base 62. Postern's ids are converted, so no table maps them.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 27
/** A number of attempts that no delivery reaches. */
const mostAttempts = 1n << 24n
/** Greater than the number of every attempt. */
export const lastNumber = Number(mostAttempts - 1n)

/** Eight digits fit into a double, whose division is faster than that of a bigint. */
const eightDigits = 62n ** 8n

function write(prefix: string, value: bigint): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= eightDigits) {
    let part = Number(rest % eightDigits)
    for (let count = 0; count < 8; count += 1, part = Math.floor(part / 62)) text = digits[part % 62] + text
  }
  return prefix + text.slice(-length).padStart(length, '0')
}

/** `undefined` for text in another form. */
function read(prefix: string, text: string): bigint | undefined {
  if (!text.startsWith(prefix) || text.length !== prefix.length + length) return undefined
  let value = 0n
  for (const character of text.slice(prefix.length)) {
    const digit = digits.indexOf(character)
    if (digit < 0) return undefined
    value = value * 62n + BigInt(digit)
  }
  return value
}

const fromUuid = (uuid: string): bigint => BigInt(`0x${uuid.replaceAll('-', '')}`)

function toUuid(value: bigint | undefined): string | undefined {
  if (value === undefined || value >= 1n << 128n) return undefined
  const hex = value.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** `ep_…` of a subscriber, and back. */
export const endpointId = (id: string): string => write('ep_', fromUuid(id))
export const readEndpointId = (text: string): string | undefined => toUuid(read('ep_', text))

/** `qtask_…` of a job, and back. */
export const taskId = (id: string): string => write('qtask_', fromUuid(id))
export const readTaskId = (text: string): string | undefined => toUuid(read('qtask_', text))

/** `atmpt_…` of an attempt of a delivery, and back. */
export function attemptId(delivery: number, number: number): string {
  return write('atmpt_', BigInt(delivery) * mostAttempts + BigInt(number))
}

export function readAttemptId(text: string): { delivery: number; number: number } | undefined {
  const value = read('atmpt_', text)
  if (value === undefined || value / mostAttempts > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  return { delivery: Number(value / mostAttempts), number: Number(value % mostAttempts) }
}

const ownId = /^app_[0-9A-Za-z]{27}$/

/** The owner for a new application without a uid, which is also the application's id. */
export const newOwner = (now: number): string => write('app_', fromUuid(newId(now)))

/** Whether the owner has the form that `newOwner` returns. */
export const isOwnId = (owner: string): boolean => ownId.test(owner)

/** The application's id: the owner itself if it is one, otherwise `app_o-` and base64url. No id of Svix contains a hyphen. */
export function applicationId(owner: string): string {
  return isOwnId(owner) ? owner : `app_o-${Buffer.from(owner).toString('base64url')}`
}

/** The owner of an application's id. `undefined` for other text, which may be a uid. */
export function readApplicationId(text: string): string | undefined {
  if (isOwnId(text)) return text
  if (!text.startsWith('app_o-')) return undefined
  const owner = Buffer.from(text.slice(6), 'base64url').toString()
  return applicationId(owner) === text ? owner : undefined
}

/** The id of a new message, which is the id of its event. */
export const newMessageId = (now: number): string => write('msg_', fromUuid(newId(now)))

/**
 * A message's id, derived from its owner and a text that the client chose. The same text gives the same id, so the unique index of event
 * ids detects repeated messages.
 * @param kind of the text; the same text of another kind gives another id
 */
export function messageIdOf(
  kind: 'eventId' | 'idempotency-key',
  { owner, eventsAfter }: EventOwner,
  text: string,
): string {
  // A customer may choose the same texts as a removed one with the same owner.
  const own = eventsAfter === 0 ? [] : [eventsAfter]
  const digest = hash('sha256', JSON.stringify([kind, owner, text, ...own]))
  return write('msg_', BigInt(`0x${digest.slice(0, 40)}`))
}
