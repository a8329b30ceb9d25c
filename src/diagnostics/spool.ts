import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { FileSpoolSettings } from '../config/address-readers.ts'
import { fileNames, foreignFiles } from '../receiving/spool/file-spool.ts'
import type { Spool } from '../receiving/spool/spool.ts'
import { mostBytes } from '../receiving/sqlite/spool-file.ts'
import { SqliteConnection } from '../storage/sqlite/connection.ts'
import { describeExposed, exposedFiles, sqliteFileOf } from '../storage/sqlite/files.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'
import { causeOf, withinTime } from '../storage/unavailable.ts'
import { describeError } from './describe-error.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** Milliseconds that webhooks may lie in the spool before it is worth a warning. */
const longestWait = 60_000

/** Milliseconds for the size of a custom spool. */
const answerWithin = 3_000

/** Whether the spools can be used, and what they contain: the one beside an SQLite file, and that of SPOOL_URL or the module. Changes nothing. */
export async function checkSpool(
  { databaseUrl = '', spool }: Partial<Pick<Configuration, 'databaseUrl' | 'spool'>>,
  custom?: Spool,
): Promise<Finding[]> {
  const findings = checkBeside(sqliteFileOf(databaseUrl))
  if (spool) findings.push(...checkFiles(spool))
  if (custom) findings.push(await checkCustom(custom))
  return findings
}

/** The spool beside an SQLite file, which is created when it is first needed. */
function checkBeside(database: string | undefined): Finding[] {
  const file = `${database}-spool`
  if (database === undefined || !existsSync(file)) return []
  const about = `spool ${file}`
  try {
    return [describe(inspectFile(file), mostBytes)]
  } catch (error) {
    const text = `cannot be read, and webhooks get HTTP 503: ${causeInWords(causeOf(error))}`
    return [fault(about, text, 'repair it: see "The spool beside SQLite is damaged" in the runbooks')]
  }
}

async function checkCustom(spool: Spool): Promise<Finding> {
  const about = 'spool of the configuration'
  try {
    const asked = withinTime(systemClock, answerWithin, spool.size(), 'size() took too long')
    const { entries, oldest, full = false } = await asked
    if (full) return warning(about, `full: ${entries} webhooks waiting`)
    return describeWaiting(about, entries, oldest?.getTime())
  } catch (error) {
    return fault(about, `does not respond: ${causeInWords(causeOf(error))}`)
  }
}

function* checkFiles({ file, maxBytes }: FileSpoolSettings): Generator<Finding> {
  const exposed = exposedFiles(file)
  if (exposed.length > 0) yield warning('spool', describeExposed(exposed))
  for (const foreign of foreignFiles(file))
    yield warning(
      'spool',
      `another user of this machine created ${foreign}: it is ignored`,
      'inspect it, and let only the service’s user write to the folder',
    )
  try {
    // The folder is not made by the start.
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK)
    const found = [...fileNames(file)].filter((name) => existsSync(name)).map(inspectFile)
    if (found.length === 0) yield ok('spool', `${file} will be created at the first start`)
    for (const contents of found) yield describe(contents, maxBytes)
  } catch (error) {
    yield fault('spool', describeError(error))
  }
}

function describe({ file, events, oldest, setAside }: FileContents, maxBytes: number): Finding {
  const about = `spool ${file}`
  if (setAside > 0)
    return warning(
      about,
      `set aside there: ${setAside}`,
      'the database rejected acknowledged webhooks: each has its reason beside it',
    )
  const [size, most] = [statSync(file).size, maxBytes].map((count) => Math.round(count / 1024 ** 2))
  return describeWaiting(about, events, oldest, `; ${size} of ${most} MB`)
}

function describeWaiting(about: string, events: number, oldest: number | undefined, more = ''): Finding {
  if (events === 0) return ok(about, 'empty')
  const age = oldest === undefined ? 0 : systemClock.now() - oldest
  const since = oldest === undefined ? '' : `, the oldest for ${Math.round(age / 1000)} s`
  const text = `${events} webhooks waiting${since}${more}`
  return age > longestWait
    ? warning(about, text, 'check that the database is available and a service is running')
    : ok(about, text)
}

/** The contents of a spool's file. */
interface FileContents {
  readonly file: string
  readonly events: number
  /** When the oldest of them was received, in milliseconds since 1970. */
  readonly oldest: number | undefined
  /** Events that the database refused. */
  readonly setAside: number
}

/** Larger files are not read as a whole, which may take seconds: bytes. */
const mostChecked = 32 * 1024 ** 2

/** Reads one existing file. @throws Error if it is damaged */
function inspectFile(file: string): FileContents {
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
