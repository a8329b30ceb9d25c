import { Problem } from '../../errors.ts'
import type { Tx } from '../../storage/database.ts'

/** What a caller can set for an event besides its content. */
export interface GivenOptions {
  /** Subscribers with channels get the event only if they share one of these: 1 to 5. Subscribers without channels get it regardless. */
  channels?: readonly string[] | undefined
  /** Labels by which the event can be found: 1 to 5. */
  tags?: readonly string[] | undefined
  /** Seconds for which the payload is stored after the event is sent. */
  payloadRetention?: number | undefined
  /** The caller's own id, stored with the event. Unlike `id`, it does not make the call idempotent. */
  uid?: string | undefined
}

/** A row of `event_options`. */
export interface EventOptions {
  uid: string | null
  /** Sorted, without duplicates. */
  channels: readonly string[] | null
  tags: readonly string[] | null
  /** Milliseconds since 1970. */
  expiresAt: number | null
}

export const channelPattern = '^[A-Za-z0-9._-]{1,128}$'
export const tagPattern = '^[A-Za-z0-9._/\\\\#-]{1,128}$'
/** The most channels, and the most tags, of one event. */
export const mostChannels = 5
/** Seconds. Events are removed after PAYLOAD_RETENTION_DAYS even if this is longer. */
export const longestRetention = 366 * 86_400

const channel = new RegExp(channelPattern)
const tag = new RegExp(tagPattern)

/**
 * @param sentAt when the event is sent, in milliseconds since 1970
 * @returns null for an event without options, which has no row
 * @throws Problem `invalid-body`
 */
export function readOptions(
  { channels, tags, payloadRetention, uid }: GivenOptions,
  sentAt: number,
): EventOptions | null {
  if (channels === undefined && tags === undefined && payloadRetention === undefined && uid === undefined)
    return null
  if (
    payloadRetention !== undefined &&
    !(typeof payloadRetention === 'number' && payloadRetention >= 1 && payloadRetention <= longestRetention)
  )
    throw invalid('payloadRetention', `must be 1 to ${longestRetention} seconds`)
  return {
    uid: uid ?? null,
    channels: readTexts('channels', channels, channel, '. _ -'),
    tags: readTexts('tags', tags, tag, '. _ / \\ # -'),
    expiresAt: payloadRetention === undefined ? null : sentAt + Math.round(payloadRetention * 1000),
  }
}

function readTexts(
  field: string,
  given: readonly string[] | undefined,
  form: RegExp,
  others: string,
): string[] | null {
  if (given === undefined) return null
  const isValid =
    Array.isArray(given) &&
    given.length > 0 &&
    given.length <= mostChannels &&
    given.every((text) => typeof text === 'string' && form.test(text))
  if (!isValid)
    throw invalid(field, `must be 1 to ${mostChannels} strings of 1 to 128 letters, digits or ${others}`)
  return [...new Set<string>(given)].toSorted()
}

/** Inserts the rows of those recorded events that have options. */
export async function insertOptions(
  tx: Tx,
  events: readonly { id: number; event: { options: EventOptions | null } }[],
): Promise<void> {
  const rows = events.flatMap(({ id, event: { options } }) =>
    options === null ? [] : [{ event: id, ...optionColumns(options) }],
  )
  if (rows.length > 0) await tx.insertInto('event_options').values(rows).execute()
}

function optionColumns({ uid, channels, tags, expiresAt }: EventOptions) {
  const json = (texts: readonly string[] | null): string | null => texts && JSON.stringify(texts)
  return { uid, channels: json(channels), tags: json(tags), expires_at: expiresAt }
}

/** The options of a recorded event that decide which subscribers get it. */
export function storedChannels(json: string): EventOptions {
  return { uid: null, channels: JSON.parse(json) as string[], tags: null, expiresAt: null }
}

export function invalid(field: string, rule: string): Problem {
  return new Problem('invalid-body', { detail: `The event's ${field} ${rule}.`, pointer: `/${field}` })
}
