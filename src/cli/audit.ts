import { fstatSync, writeFileSync } from 'node:fs'
import { entryLine, auditPages, type AuditStart } from '../accounts/audit/audit-reader.ts'
import { sleep, systemClock } from '../runtime/clock.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { readTimeOption } from './relative-time.ts'
import { readSettings } from './settings.ts'
import { interruptible, withDatabase } from './database.ts'

interface AuditExportOptions {
  since?: string
  after?: string
  follow?: boolean
}

/** Milliseconds between two looks for new entries. */
const pause = 1_000

/**
 * Writes the audit log to standard output, one JSON object per line, oldest first; with `follow` it goes on with new entries
 * until Ctrl-C. Memory is bounded: the next entries are read when those before were written.
 * @throws CommandFailure if they cannot be written
 */
export async function exportAudit(options: AuditExportOptions): Promise<void> {
  const start = readStart(options)
  await interruptible(async (interrupt) => {
    const { signal } = interrupt
    const failures: Error[] = []
    let enough = false
    // A reader that has enough, as `head` does, closes the pipe: that is the end and no error.
    const failed = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EPIPE') enough = true
      else failures.push(error)
      interrupt.abort()
    }
    process.stdout.on('error', failed)
    const progress = showProgress()
    let last = start.after
    await withDatabase(readSettings(), async (database) => {
      while (!signal.aborted) {
        for await (const rows of auditPages(database, { ...start, after: last }, signal)) {
          if (!(await isWritten(rows.map(entryLine).join(''), signal))) break
          last = rows.at(-1)!.seq
          progress.add(rows.length, last)
        }
        if (!options.follow) break
        await sleep(systemClock, pause, signal).catch(stopped)
      }
      // How many of the last entries such a reader took is not known.
    }).finally(() => progress.stop(!enough))
    process.stdout.off('error', failed)
    if (failures[0])
      throw new CommandFailure(`The entries could not be written to standard output: ${failures[0].message}`)
    if (signal.aborted && !options.follow && !enough) process.exitCode = exitCodes.interrupted.code
  })
}

/** Resolves with false if the signal came before all of the text was written. An error of the output aborts the signal. */
function isWritten(text: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false)
    const stop = (): void => resolve(false)
    signal.addEventListener('abort', stop, { once: true })
    writeAll(text, (error) => {
      if (error) return
      signal.removeEventListener('abort', stop)
      resolve(true)
    })
  })
}

/** A full disk takes a part of a text without an error, and the stream of a file does not write the rest. */
function writeAll(text: string, done: (error?: Error | null) => void): void {
  const { stdout } = process
  if (!fstatSync(stdout.fd).isFile()) return void stdout.write(text, done)
  try {
    writeFileSync(stdout.fd, text)
  } catch (error) {
    return void stdout.destroy(error as Error)
  }
  done()
}

/** A wait that Ctrl-C, or a closed pipe, has ended; the loop sees why. */
function stopped(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error
}

function readStart({ since, after }: AuditExportOptions): AuditStart {
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    throw new UsageFailure(`--after takes the seq of an entry, not ${after}`)
  return {
    after: Number(after ?? 0),
    since: since === undefined ? undefined : readTimeOption(since, 'since'),
  }
}

/** Counts on a terminal, unless the entries themselves go there. At the end, with `sum`, where to go on from. */
function showProgress(): { add: (rows: number, seq: number) => void; stop: (sum: boolean) => void } {
  const shown = process.stderr.isTTY && !process.stdout.isTTY
  let count = 0
  let last: number | undefined
  return {
    add(rows, seq) {
      count += rows
      last = seq
      if (shown) process.stderr.write(`\r${count} entries`)
    },
    stop(sum) {
      if (shown && count > 0) process.stderr.write('\r\u001b[K')
      if (!sum) return
      const next = last === undefined ? '' : `; continue with --after ${last}`
      process.stderr.write(`${count} ${count === 1 ? 'entry' : 'entries'}${next}\n`)
    },
  }
}
