import { Presets, SingleBar } from 'cli-progress'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import {
  importFile,
  importKinds,
  type ImportFormat,
  type ImportKind,
  type ImportResult,
} from '../listing/importing/import-file.ts'
import { printable } from '../telemetry/printable.ts'
import { CommandFailure } from './command-failure.ts'
import { readSettings } from './settings.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'

/** Faults that are told line by line; the rest is only counted. */
const mostTold = 100

/** The exit code when all of the file was read, and some of its lines were passed over. */
const withBadLines = 2

/**
 * Imports a file. Bad lines are told on stderr and passed over. It can be run again: what is there already is updated.
 * Exit codes: 0 when every line was imported, 2 when bad ones were passed over and the others imported, 1 when the import
 * could not be done, 130 when Ctrl-C ended it.
 */
export async function importCommand(kind: string, file: string, options: { format?: string }): Promise<void> {
  const { kind: target, format, size } = checkArguments(kind, file, options.format)
  const about = { kind: target, file: basename(file), format }
  await interruptible(({ signal }) =>
    withDatabase(readSettings(), async (database) => {
      // An import is many transactions. One that was killed has a beginning without an end.
      await recordCommand(database, { action: 'import.started', detail: about })
      const progress = showProgress(size)
      let told = 0
      const result = await importFile({
        database,
        clock: systemClock,
        kind: target,
        file,
        format,
        signal,
        onProgress: progress.update,
        onFault(line, why) {
          told += 1
          if (told <= mostTold) progress.say(printable(`${file}:${line}: ${why}`))
          else if (told === mostTold + 1) progress.say('… further bad lines are only counted')
        },
      }).finally(() => progress.stop())
      await recordCommand(database, { action: 'import.finished', detail: { ...about, ...result } })
      process.stdout.write(`${summary(target, result)}\n`)
      process.exitCode = !result.complete ? 130 : result.faults > 0 ? withBadLines : 0
    }),
  )
}

function checkArguments(
  kind: string,
  file: string,
  format = /\.csv$/i.test(file) ? 'csv' : 'ndjson',
): { kind: ImportKind; format: ImportFormat; size: number } {
  const faults: string[] = []
  const known = importKinds.find((name) => name === kind)
  if (!known) faults.push(`import takes ${importKinds.join(', ')}, not ${kind}`)
  if (format !== 'csv' && format !== 'ndjson') faults.push(`--format takes ndjson or csv, not ${format}`)
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) faults.push(`there is no file ${file}`)
  else if (stat.isDirectory()) faults.push(`${file} is a folder`)
  if (!known || !stat || (format !== 'csv' && format !== 'ndjson') || faults.length > 0)
    throw new CommandFailure(faults.join('\n'))
  return { kind: known, format, size: stat.size }
}

function summary(kind: ImportKind, { imported, faults, complete }: ImportResult): string {
  const bad = faults === 0 ? '' : `, ${faults} bad ${faults === 1 ? 'line' : 'lines'} passed over`
  const end = complete ? '' : '; interrupted, run it again to import the rest'
  return `${imported} ${kind} imported${bad}${end}`
}

interface Progress {
  update: (rows: number, bytes: number) => void
  /** A line that stays. */
  say: (text: string) => void
  stop: () => void
}

/** A bar on a terminal; elsewhere a plain line every ten seconds. */
function showProgress(size: number): Progress {
  const say = (text: string): void => void process.stderr.write(`${text}\n`)
  if (!process.stderr.isTTY) {
    let next = Date.now() + 10_000
    return {
      say,
      stop: () => undefined,
      update(rows, bytes) {
        if (Date.now() < next) return
        next = Date.now() + 10_000
        say(`${rows} rows, ${size === 0 ? 100 : Math.floor((bytes / size) * 100)} %`)
      },
    }
  }
  const bar = new SingleBar(
    {
      format: '{bar} {percentage} % · {rows} rows · {eta_formatted} left',
      clearOnComplete: true,
      hideCursor: true,
      stopOnComplete: false,
    },
    Presets.shades_classic,
  )
  bar.start(size, 0, { rows: 0 })
  return {
    update: (rows, bytes) => bar.update(bytes, { rows }),
    say(text) {
      // The bar is drawn anew below the line.
      process.stderr.write(`\r\x1b[K${text}\n`)
    },
    stop: () => bar.stop(),
  }
}
