import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { FileSpoolSettings, NatsSpoolSettings } from '../config/spool-url.ts'
import { foreignFiles } from '../receiving/spool/file-spool.ts'
import { inspectFile, inspectFiles, inspectStream, type FileContents } from '../receiving/spool/inspect.ts'
import { aroundAnEvent } from '../receiving/spool/stream-messages.ts'
import { mostBytes } from '../receiving/sqlite/spool-file.ts'
import { sqliteFileOf } from '../storage/sqlite/file-of-url.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { describeExposed, exposedFiles } from '../storage/sqlite/file-modes.ts'
import { describeError } from './describe-error.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** Milliseconds that webhooks may lie in the spool before it is worth a warning. */
const longestWait = 60_000

/** Whether the spools can be used, and what lies in them: the one beside an SQLite file, and that of SPOOL_URL. Changes nothing. */
export async function checkSpool({
  databaseUrl = '',
  spool,
  bodyLimit,
}: Partial<Pick<Configuration, 'databaseUrl' | 'spool' | 'bodyLimit'>>): Promise<Finding[]> {
  const findings = checkBeside(sqliteFileOf(databaseUrl))
  if (!spool) return findings
  if (spool.kind === 'file') return [...findings, ...checkFiles(spool)]
  return [...findings, ...(await checkStream(spool, bodyLimit))]
}

/** The spool beside an SQLite file, which is created when it is first needed. */
function checkBeside(database: string | undefined): Finding[] {
  const file = `${database}-spool`
  if (database === undefined || !existsSync(file)) return []
  const about = `spool ${file}`
  try {
    return [describe(about, inspectFile(file), statSync(file).size, mostBytes)]
  } catch (error) {
    const cause = error instanceof StorageUnavailable ? error.cause : error
    return [
      fault(
        about,
        `cannot be read, and webhooks get HTTP 503: ${cause instanceof Error ? cause.message : String(cause)}`,
        'repair it: see "The spool beside SQLite is damaged" in the run-books',
      ),
    ]
  }
}

async function checkStream(settings: NatsSpoolSettings, bodyLimit = 0): Promise<Finding[]> {
  const about = `spool ${settings.stream}`
  try {
    const { maxPayload, contents } = await inspectStream(settings)
    const findings: Finding[] = []
    if (maxPayload < bodyLimit + aroundAnEvent)
      findings.push(
        warning(
          about,
          `NATS takes messages of ${maxPayload} bytes (max_payload), and WEBHOOK_BODY_LIMIT is ${bodyLimit}: larger webhooks get HTTP 503 while the database is unavailable`,
        ),
      )
    if (!contents) return [...findings, ok(about, 'the stream will be created at the first start')]
    return [...findings, describe(about, contents, contents.bytes, settings.maxBytes)]
  } catch (error) {
    return [fault(about, `NATS does not respond: ${error instanceof Error ? error.message : String(error)}`)]
  }
}

function* checkFiles({ file, maxBytes }: FileSpoolSettings): Generator<Finding> {
  const exposed = exposedFiles(file)
  if (exposed.length > 0) yield warning('spool', describeExposed(exposed))
  for (const foreign of foreignFiles(file))
    yield warning(
      'spool',
      `another user of this machine made ${foreign}: it is not read`,
      'inspect it, and let only the service’s user write to the folder',
    )
  try {
    // The folder is not made by the start.
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK)
    const found = inspectFiles(file)
    if (found.length === 0) yield ok('spool', `${file} will be created at the first start`)
    for (const contents of found)
      yield describe(`spool ${contents.file}`, contents, statSync(contents.file).size, maxBytes)
  } catch (error) {
    yield fault('spool', describeError(error))
  }
}

function describe(
  about: string,
  { events, oldest, setAside }: Pick<FileContents, 'events' | 'oldest' | 'setAside'>,
  bytes: number,
  maxBytes: number,
): Finding {
  if (setAside > 0)
    return warning(
      about,
      `set aside there: ${setAside}`,
      'the database rejected acknowledged webhooks, or another program wrote entries: each has its reason beside it',
    )
  if (events === 0) return ok(about, 'empty')
  const age = oldest === undefined ? 0 : systemClock.now() - oldest
  const [size, most] = [bytes, maxBytes].map((count) => Math.round(count / 1024 ** 2))
  const text = `${events} webhooks waiting, the oldest for ${Math.round(age / 1000)} s; ${size} of ${most} MB`
  return age > longestWait
    ? warning(about, text, 'check that the database is available and a service is running')
    : ok(about, text)
}
