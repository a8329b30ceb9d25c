import { existsSync } from 'node:fs'
import { Problem } from '../../errors.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { isForeign } from '../../storage/sqlite/files.ts'
import { claimFile, FileInUse } from '../../storage/sqlite/owner.ts'
import { ConfigurationError } from '../../config/environment.ts'
import type { FileSpoolSettings } from '../../config/address-readers.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import { type IncomingEvent, packEvents, unpackEvents } from '../queue/store.ts'
import type { SpoolFileTasks } from './spool-file-thread.ts'
import { SignedSpool, type Spool, type SpoolEntry, type SpoolSize } from './spool.ts'

/** A spool in an SQLite file that only this process uses. */
class FileSpool implements Spool<IncomingEvent> {
  readonly #release: () => void
  readonly #thread: ThreadClient<SpoolFileTasks>
  #closed = false

  /** @param release gives the file up for other processes. */
  constructor({ file, maxBytes }: FileSpoolSettings, release: () => void) {
    this.#release = release
    const module = new URL('spool-file-thread.ts', import.meta.url)
    this.#thread = new ThreadClient({ module, name: 'spool', workerData: { file, maxBytes } })
  }

  /** @throws Problem `overloaded` if the spool is full; StorageUnavailable */
  async append(events: readonly IncomingEvent[]): Promise<void> {
    const rows = packEvents(events)
    if (!(await this.#thread.call('append', rows, [rows.payloads.buffer])))
      throw new Problem('overloaded', { retryAfter: 1 })
  }

  async read(limit: number): Promise<SpoolEntry<IncomingEvent>[]> {
    const { rows, seqs } = await this.#thread.call('read', limit)
    return unpackEvents(rows).map((content, index) => ({ id: String(seqs[index]), content }))
  }

  async remove(ids: readonly string[], rejected?: string): Promise<void> {
    await this.#thread.call('remove', { seqs: ids.map(Number), rejected })
  }

  async size(): Promise<SpoolSize> {
    const { oldest, ...size } = await this.#thread.call('size', undefined)
    return { ...size, oldest: oldest === undefined ? undefined : new Date(oldest) }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    try {
      await this.#thread.close()
    } finally {
      this.#release()
    }
  }
}

/** Files of one setting that the processes on one machine may use. */
const mostFiles = 64

/** The possible names of the files of a setting, which names the first one. */
export function* fileNames(file: string): Generator<string> {
  yield file
  for (let number = 2; number <= mostFiles; number += 1) yield `${file}.${number}`
}

/** The existing files of a setting that other users of this machine made. They are not read: their events would be taken for verified. */
export function foreignFiles(file: string): string[] {
  return [...fileNames(file)].filter(isForeign)
}

/**
 * Opens the spool of this process: the first of `FILE`, `FILE.2`, `FILE.3` and so on that no other process uses and no other user made.
 * It may hold events of an earlier process.
 * @throws StorageUnavailable if the file cannot be opened; FileInUse if all names are taken
 */
async function openFileSpool(settings: FileSpoolSettings): Promise<FileSpool> {
  for (const file of fileNames(settings.file)) {
    if (isForeign(file)) continue
    const spool = await claimSpool({ ...settings, file })
    if (spool) return spool
  }
  throw new FileInUse(settings.file, `give it another SPOOL_URL: ${mostFiles} files of this name are in use`)
}

/** Opens a file with events that no process uses, if there is one. @throws StorageUnavailable if a file cannot be opened */
async function openAbandoned(settings: FileSpoolSettings): Promise<FileSpool | undefined> {
  for (const file of fileNames(settings.file)) {
    if (!existsSync(file) || isForeign(file) || !holdsEvents(file)) continue
    const spool = await claimSpool({ ...settings, file })
    if (spool) return spool
  }
  return undefined
}

/** Checked before a file is claimed, which starts a thread: most files are empty or in use. */
function holdsEvents(file: string): boolean {
  const connection = new SqliteConnection(file, { readOnly: true })
  try {
    const isCreated = connection.get(`select 1 from sqlite_schema where type = 'table' and name = 'spool'`)
    return isCreated !== undefined && connection.get('select 1 from spool limit 1') !== undefined
  } finally {
    connection.close()
  }
}

/** Undefined if another process uses the file. */
async function claimSpool(settings: FileSpoolSettings): Promise<FileSpool | undefined> {
  let release: () => void
  try {
    release = claimFile(settings.file)
  } catch (error) {
    if (error instanceof FileInUse) return undefined
    throw error
  }
  const spool = new FileSpool(settings, release)
  try {
    await spool.size()
    return spool
  } catch (error) {
    await spool.close().catch(() => undefined)
    throw error
  }
}

/** Where the spool is: `SPOOL_URL` or `receiving.spool`. */
interface SpoolChoice {
  readonly settings: FileSpoolSettings | undefined
  readonly custom: Spool | undefined
}

/** @throws ConfigurationError if both are set, or if a method of the custom spool is missing */
export function checkSpoolChoice({ settings, custom }: SpoolChoice): void {
  if (!custom) return
  if (settings) throw new ConfigurationError(['SPOOL_URL and receiving.spool are both set: remove one'])
  const missing = (['append', 'read', 'remove', 'size'] as const).filter(
    (name) => typeof custom[name] !== 'function',
  )
  if (missing.length > 0)
    throw new ConfigurationError([`receiving.spool lacks the methods ${missing.join(', ')}`])
}

export interface OpenSpool {
  readonly spool: Spool<IncomingEvent>
  /** Opens the spool of a process that ended and was not started again, if there is one. */
  readonly openAbandoned?: () => Promise<Spool<IncomingEvent> | undefined>
}

/**
 * Opens the spool, if one is configured. A custom spool that does not respond now is tried again when it is needed.
 * @throws ConfigurationError if it cannot be used
 */
export async function openSpool(
  choice: SpoolChoice,
  parts: { keyring: Keyring; clock: Clock; log: Log },
): Promise<OpenSpool | undefined> {
  checkSpoolChoice(choice)
  const { settings, custom } = choice
  const { log } = parts
  if (custom) {
    const spool = new SignedSpool(custom, parts)
    await spool.size().catch((error: unknown) => {
      log.warn({ err: error }, 'the spool is not available yet: it is tried again when needed')
    })
    return { spool }
  }
  if (!settings) return undefined
  try {
    const foreign = foreignFiles(settings.file)
    if (foreign.length > 0) log.warn({ files: foreign }, 'spool files created by other users are ignored')
    return { spool: await openFileSpool(settings), openAbandoned: () => openAbandoned(settings) }
  } catch (error) {
    const cause = error instanceof StorageUnavailable ? error.cause : error
    if (!(error instanceof StorageUnavailable || error instanceof FileInUse)) throw error
    throw new ConfigurationError([
      `SPOOL_URL cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
    ])
  }
}
