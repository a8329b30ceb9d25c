import { existsSync, statSync } from 'node:fs'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { NatsSpoolSettings } from '../../config/spool-url.ts'
import { fileNames } from './file-spool.ts'
import { isMissing } from './nats-errors.ts'
import { answerWithin, connectToNats } from './nats-link.ts'
import { contentsOf, type StreamContents } from './stream-contents.ts'

/** The contents of a spool's file. */
export interface FileContents {
  readonly file: string
  readonly events: number
  /** When the oldest of them was received, in milliseconds since 1970. */
  readonly oldest: number | undefined
  /** Events that the database refused. */
  readonly setAside: number
}

/** Reads the existing files of a spool, also while other processes use them. */
export function inspectFiles(file: string): FileContents[] {
  return [...fileNames(file)].filter((name) => existsSync(name)).map(inspectFile)
}

/** Larger files are not read as a whole, which may take seconds: bytes. */
const mostChecked = 32 * 1024 ** 2

/** Reads one existing file. @throws Error if it is damaged */
export function inspectFile(file: string): FileContents {
  const connection = new SqliteConnection(file, { readOnly: true })
  try {
    // It reports the first fault (https://sqlite.org/pragma.html#pragma_quick_check).
    const check = statSync(file).size <= mostChecked ? connection.get('pragma quick_check(1)') : undefined
    if (check && check['quick_check'] !== 'ok') throw new Error(`${file}: ${String(check['quick_check'])}`)
    const tables = connection.all<{ name: string }>(`select name from sqlite_schema where type = 'table'`)
    const has = (table: string): boolean => tables.some(({ name }) => name === table)
    const spooled = has('spool')
      ? connection.get<{ events: number; oldest: number | null }>(
          `select coalesce(max(seq) - min(seq) + 1, 0) as events,
            (select received_at from spool order by seq limit 1) as oldest from spool`,
        )
      : undefined
    const aside = has('set_aside')
      ? connection.get<{ count: number }>('select count(*) as count from set_aside')
      : undefined
    return {
      file,
      events: spooled?.events ?? 0,
      oldest: spooled?.oldest ?? undefined,
      setAside: aside?.count ?? 0,
    }
  } finally {
    connection.close()
  }
}

/** The contents of a stream; undefined if it does not exist yet. */
export async function inspectStream(
  settings: NatsSpoolSettings,
): Promise<{ maxPayload: number; contents: StreamContents | undefined }> {
  const { jetstreamManager } = await import('@nats-io/jetstream')
  const connection = await connectToNats(settings)
  try {
    const manager = await jetstreamManager(connection, { timeout: answerWithin })
    const contents = await contentsOf(manager, settings.stream).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
    return { maxPayload: connection.info?.max_payload ?? 0, contents }
  } finally {
    await connection.close()
  }
}
