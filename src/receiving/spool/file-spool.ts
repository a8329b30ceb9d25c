import { existsSync } from 'node:fs'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import { claimFile, FileInUse } from '../../storage/sqlite/owner.ts'
import type { FileSpoolSettings } from '../../config/spool-url.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../incoming.ts'
import { packBatch, unpackBatch } from '../sqlite/batch-message.ts'
import { ThreadClient } from '../sqlite/thread-client.ts'
import type { Answer, SpoolThreadData, Task } from './file-thread.ts'
import { noPortion, type Portion, type Spool, type SpoolState } from './spool.ts'

/** A spool in an SQLite file that this process alone uses. */
class FileSpool implements Spool {
  readonly #release: () => void
  readonly #thread: ThreadClient<Task, Answer>
  #closed = false

  /** @param release gives the file up for other processes. */
  constructor({ file, maxBytes }: FileSpoolSettings, release: () => void) {
    this.#release = release
    this.#thread = new ThreadClient<Task, Answer>({
      module: new URL('file-thread.ts', import.meta.url),
      name: 'spool',
      workerData: { file, maxBytes } satisfies SpoolThreadData,
    })
  }

  async append(events: readonly IncomingEvent[]): Promise<void> {
    const { message, transfer } = packBatch(events)
    await this.#ask({ kind: 'append', batch: message }, transfer)
  }

  async read(limit: number): Promise<Portion> {
    const { portion } = await this.#ask({ kind: 'read', limit })
    if (!portion) throw new Error('the spool gave no events')
    const { batch, range } = portion
    const events = unpackBatch(batch)
    if (events.length === 0) return noPortion
    return {
      events,
      remove: async () => void (await this.#ask({ kind: 'remove', range })),
      release: async () => void (await this.#ask({ kind: 'give-back', range })),
    }
  }

  async setAside({ source, eventId }: IncomingEvent, reason: string): Promise<void> {
    await this.#ask({ kind: 'set-aside', event: { source, eventId }, reason })
  }

  async state(): Promise<SpoolState> {
    const { state } = await this.#ask({ kind: 'state' })
    if (!state) throw new Error('the spool told nothing of itself')
    return state
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    try {
      await this.#thread.end({ kind: 'close' })
    } finally {
      this.#release()
    }
  }

  /** Another process may have the file after the end: a thread must not begin again. */
  #ask(task: Task, transfer?: ArrayBuffer[]): Promise<Answer> {
    if (this.#closed) return Promise.reject(new StorageUnavailable(new Error('the spool is closed')))
    return this.#thread.ask(task, transfer)
  }
}

/** Files of one setting that processes on one machine may have. */
const mostFiles = 64

/** The names that the files of a setting may have; the first one is called as the setting says. */
export function* fileNames(file: string): Generator<string> {
  yield file
  for (let number = 2; number <= mostFiles; number += 1) yield `${file}.${number}`
}

/**
 * Opens the spool of this process: the file of the setting or, when another process has that one, the first of `FILE.2`,
 * `FILE.3` and so on that none has. What an earlier process left in it is there.
 * @throws StorageUnavailable when the file cannot be opened; FileInUse when all names are taken.
 */
export async function openFileSpool(settings: FileSpoolSettings): Promise<Spool> {
  for (const file of fileNames(settings.file)) {
    const spool = await claimSpool({ ...settings, file })
    if (spool) return spool
  }
  throw new FileInUse(settings.file, `give it another SPOOL_URL: ${mostFiles} files of this name are in use`)
}

/**
 * Opens a file with events that a process left behind which has not come back, if there is one.
 * @throws StorageUnavailable when a file cannot be opened.
 */
export async function openAbandoned(settings: FileSpoolSettings): Promise<Spool | undefined> {
  for (const file of fileNames(settings.file)) {
    if (!existsSync(file) || !holdsEvents(file)) continue
    const spool = await claimSpool({ ...settings, file })
    if (spool) return spool
  }
  return undefined
}

/** Asked before a file is claimed, which takes a thread: most of these are empty, or another process uses them. */
function holdsEvents(file: string): boolean {
  const connection = new SqliteConnection(file, { readOnly: true })
  try {
    return connection.get('select 1 as found from spool limit 1') !== undefined
  } finally {
    connection.close()
  }
}

/** Undefined when another process has the file. */
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
    release()
    throw error
  }
}
