import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import {
  importFile,
  type ImportFormat,
  type ImportKind,
  type ImportResult,
} from '../listing/importing/import-file.ts'
import { printable } from '../telemetry/printable.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import { readSettings } from './settings.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'

/** Faults that are told line by line; the rest is only counted. */
const mostTold = 100

/**
 * Imports a file. Bad lines are told on stderr and passed over. It can be run again: what is there already is updated.
 * Exit codes: 0 when every line was imported, 3 when bad ones were passed over and the others imported, 1 when the import
 * could not be done, 130 when Ctrl-C ended it.
 */
export async function importCommand(
  kind: ImportKind,
  file: string,
  options: { format?: ImportFormat },
): Promise<void> {
  const size = sizeOf(file)
  const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson')
  const about = { kind, file: basename(file), format }
  await interruptible(({ signal }) =>
    withDatabase(readSettings(), async (database) => {
      // An import is many transactions. One that was killed has a beginning without an end.
      await recordCommand(database, { action: 'import.started', detail: about })
      const progress = showProgress(size, 'bytes', false)
      let told = 0
      const result = await importFile({
        database,
        clock: systemClock,
        kind,
        file,
        format,
        signal,
        onProgress: (_rows, bytes) => progress.update(bytes),
        onFault(line, why) {
          told += 1
          if (told <= mostTold) progress.say(printable(`${file}:${line}: ${why}`))
          else if (told === mostTold + 1) progress.say('… further bad lines are only counted')
        },
      }).finally(() => progress.stop())
      await recordCommand(database, { action: 'import.finished', detail: { ...about, ...result } })
      print({ kind, ...result }, `${summary(kind, result)}\n`)
      const { interrupted, partly, done } = exitCodes
      process.exitCode = (!result.complete ? interrupted : result.faults > 0 ? partly : done).code
    }),
  )
}

function sizeOf(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) throw new CommandFailure(`there is no file ${file}`)
  if (stat.isDirectory()) throw new CommandFailure(`${file} is a folder`)
  return stat.size
}

function summary(kind: ImportKind, { imported, faults, complete }: ImportResult): string {
  const bad = faults === 0 ? '' : `, ${faults} bad ${faults === 1 ? 'line' : 'lines'} skipped`
  const end = complete ? '' : '; interrupted, run it again to import the rest'
  const what = imported === 1 ? kind.slice(0, -1) : kind
  return `${imported} ${what} imported${bad}${end}`
}
