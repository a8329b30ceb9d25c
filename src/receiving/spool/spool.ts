import { equalBytes, HmacKey } from '../../crypto/secrets.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Clock } from '../../runtime/clock.ts'
import { StorageUnavailable, withinTime } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import { decodeEvents, encodeEvents, type IncomingEvent } from '../queue/store.ts'

/** A stored webhook. */
export interface SpoolEntry<Content = Uint8Array> {
  /** Names the entry for `remove`. Unique among the entries that are stored. */
  readonly id: string
  readonly content: Content
}

export interface SpoolSize {
  /** Stored entries, without those that were removed as rejected. */
  readonly entries: number
  /** When the oldest of them was appended. Without it, metrics report an age of 0. */
  readonly oldest?: Date | undefined
  /** Whether `append` rejects now because a size limit is reached. Default false. */
  readonly full?: boolean
}

/**
 * Stores acknowledged webhooks while the database is unavailable, and returns them in order when it is available again. Postern signs
 * each entry with a key derived from `POSTERN_SECRET` and verifies it after `read`, so the contents are opaque bytes here, and a spool
 * does not have to be trusted. It is not encrypted: anyone who can read the spool can read the webhooks.
 *
 * Postern waits eight seconds for each method, and treats a later result or a rejection with any error as "unavailable now".
 */
export interface Spool<Content = Uint8Array> {
  /**
   * Stores entries, in this order, behind all others. Resolve only once they are durable: the sender gets HTTP 200 then and does not
   * send the webhook again. Reject if they cannot be stored, for example because a size limit is reached: all senders of the batch get HTTP
   * 503 and retry, so an entry that was stored anyway does no harm. Reject with a RangeError if an entry is too large to be stored at all:
   * then Postern appends the others without it. Calls can overlap.
   */
  append(contents: readonly Content[]): Promise<void>
  /**
   * Returns the oldest entries, oldest first: at most `limit` of them, and a few megabytes, but at least one unless the spool is empty.
   * Entries that were read and not removed are returned again by the next call. A process calls `read` and `remove` one at a time. If
   * several processes share the spool, they should get different entries; an entry that two of them get is still processed once.
   */
  read(limit: number): Promise<readonly SpoolEntry<Content>[]>
  /**
   * Deletes entries after they were moved to the database. Entries that are no longer there are ignored.
   * @param rejected why the database or the verification rejected them. Store them and the reason elsewhere first, for inspection:
   *   they may be acknowledged webhooks.
   */
  remove(ids: readonly string[], rejected?: string): Promise<void>
  /** Called at the start and by `/readyz`, metrics and `postern doctor`: resolve within a second. */
  size(): Promise<SpoolSize>
  /** Optional: called once when the service stops. The entries stay for the next start. */
  close?(): Promise<void>
}

/** Milliseconds for one call of a custom spool. Senders give up after 10 s. */
const callWithin = 8_000
/** Reads in a row without an entry of this service, after which other work has its turn. */
const mostReads = 100
/** Entries that this process cannot verify and reads past, to get those behind them. */
const mostUnreadable = 10_000

/** What signing needs. */
interface SigningParts {
  keyring: Keyring
  clock: Pick<Clock, 'after'>
  log: Log
}

/** A custom spool with signed entries. Its errors become StorageUnavailable. */
export class SignedSpool implements Spool<IncomingEvent> {
  readonly #spool: Spool
  readonly #parts: SigningParts
  readonly #signature: EntrySignature
  /** Entries of the last read that stay in the spool, because this process cannot verify, decode or remove them. */
  #unreadable = 0

  constructor(spool: Spool, parts: SigningParts) {
    this.#spool = spool
    this.#parts = parts
    this.#signature = new EntrySignature(parts.keyring)
  }

  append(events: readonly IncomingEvent[]): Promise<void> {
    const entries = events.map((event) => this.#signature.sign(encodeEvents([event])))
    return this.#call('append', async () => {
      try {
        await this.#spool.append(entries)
      } catch (error) {
        throw error instanceof RangeError && events.length > 1 ? new EntryTooLarge(error) : error
      }
    })
  }

  async read(limit: number): Promise<SpoolEntry<IncomingEvent>[]> {
    for (let reads = 0; reads < mostReads; reads += 1) {
      const most = limit + Math.min(this.#unreadable, mostUnreadable)
      const found = await this.#call('read', () => this.#spool.read(most))
      if (!Array.isArray(found) || !found.every(isEntry))
        throw new StorageUnavailable('read of receiving.spool must return entries {id, content}')
      const { own, removed } = await this.#verify(found)
      if (own.length > 0 || removed === 0) return own
    }
    return []
  }

  remove(ids: readonly string[], rejected?: string): Promise<void> {
    return this.#call('remove', () => this.#spool.remove(ids, rejected))
  }

  async size(): Promise<SpoolSize> {
    const size = await this.#call('size', () => this.#spool.size())
    if (!Number.isInteger(size?.entries))
      throw new StorageUnavailable('size of receiving.spool must return {entries}')
    return size
  }

  async close(): Promise<void> {
    await this.#spool.close?.()
  }

  /** Returns this service's events, and removes what another program wrote: it is no verified webhook. */
  async #verify(
    found: readonly SpoolEntry[],
  ): Promise<{ own: SpoolEntry<IncomingEvent>[]; removed: number }> {
    const own: SpoolEntry<IncomingEvent>[] = []
    const forged: string[] = []
    const unreadable = { key: 0, format: 0 }
    for (const { id, content } of found) {
      const verified = this.#signature.verify(content)
      if (verified === 'forged') forged.push(id)
      else if (verified === 'unknown-key') unreadable.key += 1
      else {
        const event = decode(verified)
        if (event) own.push({ id, content: event })
        else unreadable.format += 1
      }
    }
    const removed = await this.#reject(forged)
    const left = found.length - own.length - removed
    if (left !== this.#unreadable) this.#logUnreadable(unreadable)
    this.#unreadable = left
    return { own, removed }
  }

  async #reject(forged: readonly string[]): Promise<number> {
    if (forged.length === 0) return 0
    const { log } = this.#parts
    log.error(
      { count: forged.length, id: forged[0] },
      'another program has written to the spool: its entries are rejected',
    )
    try {
      await this.remove(forged, 'not signed by this service')
      return forged.length
    } catch (error) {
      // The spool may be full. The entries of this service make room.
      log.warn({ err: error }, 'rejected entries could not be removed from the spool')
      return 0
    }
  }

  #logUnreadable({ key, format }: { key: number; format: number }): void {
    const { log } = this.#parts
    if (key > 0)
      log.error(
        { count: key },
        'entries of the spool are signed with a key that POSTERN_SECRET does not have',
      )
    if (format > 0) log.error({ count: format }, 'entries of the spool cannot be read by this version')
  }

  async #call<T>(method: string, work: () => Promise<T>): Promise<T> {
    try {
      return await withinTime(
        this.#parts.clock,
        callWithin,
        work(),
        `${method} of receiving.spool took too long`,
      )
    } catch (error) {
      throw error instanceof StorageUnavailable || error instanceof EntryTooLarge
        ? error
        : new StorageUnavailable(error)
    }
  }
}

/** One of several entries is too large for the spool. The group commit halves the batch, so that the others are stored. */
export class EntryTooLarge extends Error {
  constructor(cause: RangeError) {
    super(`an entry is too large for receiving.spool: ${cause.message}`, { cause })
    this.name = 'EntryTooLarge'
  }
}

function isEntry(entry: unknown): entry is SpoolEntry {
  const { id, content } = (entry ?? {}) as Partial<SpoolEntry>
  return typeof id === 'string' && content instanceof Uint8Array
}

/** The event of a verified entry; undefined if a newer version wrote it. */
function decode(content: Uint8Array): IncomingEvent | undefined {
  try {
    return decodeEvents(content)[0]
  } catch {
    return undefined
  }
}

const version = 1
const [idLength, macLength] = [4, 32]
const headLength = 1 + idLength + macLength
const purpose = 'spool'

/**
 * Proves that this service wrote an entry, because other programs may be able to write to a spool, and its contents are taken
 * for verified webhooks. Layout: version, id of the master key (4 bytes), HMAC-SHA256 of the content, content.
 */
class EntrySignature {
  readonly #keys: readonly [Key, ...Key[]]

  constructor(keyring: Keyring) {
    const ids = keyring.keyIds
    const [newest, ...older] = keyring
      .derived('entries', purpose)
      .map((key, index) => ({ id: ids[index]!, hmac: new HmacKey('sha256', key) }))
    this.#keys = [newest!, ...older]
  }

  /** The entry with this content, signed with the newest key. */
  sign(content: Uint8Array): Uint8Array {
    const [{ id, hmac }] = this.#keys
    const entry = Buffer.allocUnsafe(headLength + content.length)
    entry[0] = version
    entry.set(id, 1)
    entry.set(hmac.digest(content), 1 + idLength)
    entry.set(content, headLength)
    return entry
  }

  /** The content of an entry. `forged`: the signature is wrong or missing. `unknown-key`: POSTERN_SECRET lacks the key that signed it. */
  verify(entry: Uint8Array): Uint8Array | 'forged' | 'unknown-key' {
    if (entry.length < headLength || entry[0] !== version) return 'forged'
    const id = entry.subarray(1, 1 + idLength)
    const key = this.#keys.find((candidate) => candidate.id.equals(id))
    if (!key) return 'unknown-key'
    const content = entry.subarray(headLength)
    const mac = entry.subarray(1 + idLength, headLength)
    return equalBytes(key.hmac.digest(content), mac) ? content : 'forged'
  }
}

interface Key {
  readonly id: Buffer
  readonly hmac: HmacKey
}
