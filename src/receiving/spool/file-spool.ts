import { existsSync } from 'node:fs'
import { Problem } from '../../errors.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { isForeign } from '../../storage/sqlite/file-modes.ts'
import { claimFile, FileInUse } from '../../storage/sqlite/owner.ts'
import type { FileSpoolSettings } from '../../config/spool-url.ts'
import { buffersOf } from '../../storage/sqlite/packed-rows.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { packEvents, unpackEvents } from '../queue/event-rows.ts'
import type { SpoolFileTasks } from './spool-file-thread.ts'
import { noPortion, type Portion, type Spool, type SpoolState } from './spool.ts'

/** A spool in an SQLite file that only this process uses. */
class FileSpool implements Spool {
  readonly #release: () => void
  readonly #thread: ThreadClient<SpoolFileTasks>
  /** The numbers in the file of the events that were read. */
  readonly #seqs = new WeakMap<IncomingEvent, number>()
  #closed = false

  /** @param release gives the file up for other processes. */
  constructor({ file, maxBytes }: FileSpoolSettings, release: () => void) {
    this.#release = release
    const module = new URL('spool-file-thread.ts', import.meta.url)
    this.#thread = new ThreadClient({ module, name: 'spool', workerData: { file, maxBytes } })
  }

  async append(events: readonly IncomingEvent[]): Promise<void> {
    const rows = packEvents(events)
    if (!(await this.#open.call('append', rows, buffersOf(rows))))
      throw new Problem('overloaded', { retryAfter: 1 })
  }

  async read(limit: number): Promise<Portion> {
    const { rows, seqs } = await this.#open.call('read', limit)
    if (seqs.length === 0) return noPortion
    const events = unpackEvents(rows)
    for (const [index, event] of events.entries()) this.#seqs.set(event, seqs[index]!)
    const range = { from: seqs[0]!, to: seqs.at(-1)! }
    return {
      events,
      remove: async () => this.#open.call('remove', range),
      release: async () => this.#open.call('releaseEvents', range),
    }
  }

  async setAside(event: IncomingEvent, reason: string): Promise<void> {
    await this.#open.call('setAside', { seq: this.#seqs.get(event)!, reason })
  }

  async state(): Promise<SpoolState> {
    return this.#open.call('state', undefined)
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

  /** Another process may have the file after `close`: the thread must not start again. */
  get #open(): ThreadClient<SpoolFileTasks> {
    if (this.#closed) throw new StorageUnavailable(new Error('the spool is closed'))
    return this.#thread
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
export async function openFileSpool(settings: FileSpoolSettings): Promise<Spool> {
  for (const file of fileNames(settings.file)) {
    if (isForeign(file)) continue
    const spool = await claimSpool({ ...settings, file })
    if (spool) return spool
  }
  throw new FileInUse(settings.file, `give it another SPOOL_URL: ${mostFiles} files of this name are in use`)
}

/** Opens a file with events that no process uses, if there is one. @throws StorageUnavailable if a file cannot be opened */
export async function openAbandoned(settings: FileSpoolSettings): Promise<Spool | undefined> {
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
async function claimSpool(settings: FileSpoolSettings): Promise<Spool | undefined> {
  let release: () => void
  try {
    release = claimFile(settings.file)
  } catch (error) {
    if (error instanceof FileInUse) return undefined
    throw error
  }
  const spool = new FileSpool(settings, release)
  try {
    await spool.state()
    return spool
  } catch (error) {
    await spool.close().catch(() => undefined)
    throw error
  }
}
