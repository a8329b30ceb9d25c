import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { systemClock } from '../runtime/clock.ts'
import {
  importFile,
  type ImportFormat,
  type ImportResult,
  isImportKind,
  targetOf,
} from '../listing/importing/import-file.ts'
import { type ListImportOptions, openListTarget } from '../listing/importing/list-target.ts'
import { InvalidRecord } from '../listing/importing/target.ts'
import type { ListDeclaration } from '../listing/list.ts'
import { printable } from '../telemetry/printable.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { declaredLists } from './lists.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import { readSettings } from './settings.ts'
import { interruptible, recordCommand, withDatabase } from './database.ts'

/** Faults that are told line by line; the rest is only counted. */
const mostTold = 100

interface ImportCommandOptions extends ListImportOptions {
  format?: ImportFormat
  dryRun?: boolean
}

/**
 * Imports a file into a built-in list, or into a declared list by its path or name. Reports invalid lines on stderr and skips them.
 * Exit codes: 0 if every line was imported, 3 if invalid lines were skipped, 1 if the import failed, 130 after Ctrl-C.
 */
export async function importCommand(
  name: string,
  file: string,
  options: ImportCommandOptions,
): Promise<void> {
  const list = isImportKind(name) ? undefined : await declaredList(name)
  const size = file === '-' ? 0 : sizeOf(file)
  const format = formatOf(file, options)
  const { dryRun = false } = options
  if (!list && (options.upsert || options.ignoreUnknown || options.null !== undefined))
    throw new UsageFailure(
      `--upsert, --ignore-unknown and --null are for declared lists: an import of ${name} updates existing rows and ignores unknown fields`,
    )
  const kind = list?.path ?? name
  const about = { kind, file: basename(file), format }
  await interruptible(({ signal }) =>
    withDatabase(readSettings(), async (database) => {
      const target = list
        ? await openListTarget(database, list, options)
        : targetOf(name as Parameters<typeof targetOf>[0], database)
      // An import is many transactions. One that was killed has a beginning without an end.
      if (!dryRun) await recordCommand(database, { action: 'import.started', detail: about })
      const progress = showProgress(size, 'bytes', false)
      const began = performance.now()
      let told = 0
      const result = await importFile({
        database,
        clock: systemClock,
        target,
        file,
        format,
        dryRun,
        signal,
        onProgress: (rows, bytes) =>
          progress.update(bytes, size, `${rows} rows, ${rate(rows, performance.now() - began)}/s`),
        onFault(line, why) {
          told += 1
          if (told <= mostTold) progress.say(printable(`${file}:${line}: ${why}`))
          else if (told === mostTold + 1) progress.say('… further bad lines are only counted')
        },
      })
        .catch((error: unknown) => {
          if (error instanceof InvalidRecord)
            throw new CommandFailure(`the header of ${file} ${error.message}`)
          throw error
        })
        .finally(() => progress.stop())
      if (!dryRun)
        await recordCommand(database, { action: 'import.finished', detail: { ...about, ...result } })
      print({ kind, dryRun, ...result }, `${summary(kind, result, dryRun)}\n`)
      const { interrupted, partly, done } = exitCodes
      process.exitCode = (!result.complete ? interrupted : result.faults > 0 ? partly : done).code
    }),
  )
}

function formatOf(file: string, { format }: ImportCommandOptions): ImportFormat {
  if (format) return format
  if (file === '-') throw new UsageFailure('standard input has no file extension: add --format csv or ndjson')
  return /\.csv$/i.test(file) ? 'csv' : 'ndjson'
}

async function declaredList(name: string): Promise<ListDeclaration> {
  const lists = await declaredLists()
  const found = lists.find((list) => [list.path, list.path.slice(1), list.name].includes(name))
  if (found) return found
  const names = ['users', 'products', 'posts', ...lists.map(({ path }) => path)]
  throw new UsageFailure(`there is no list ${name} to import into: use one of ${names.join(', ')}`)
}

function rate(rows: number, milliseconds: number): number {
  return Math.round((rows / Math.max(1, milliseconds)) * 1_000)
}

function sizeOf(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) throw new CommandFailure(`there is no file ${file}`)
  if (stat.isDirectory()) throw new CommandFailure(`${file} is a folder`)
  return stat.size
}

function summary(kind: string, result: ImportResult, dryRun: boolean): string {
  const { imported, inserted, updated, existing, faults, line, complete } = result
  const bad =
    faults === 0 ? '' : `, ${faults} bad ${faults === 1 ? 'line' : 'lines'}${dryRun ? '' : ' skipped'}`
  const parts = { new: inserted, updated, 'existing left alone': existing }
  const counts = Object.entries(parts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]))
  const of = kind.startsWith('/') ? 'rows' : kind
  const what = `${imported} ${imported === 1 ? of.slice(0, -1) : of}`
  const done = dryRun ? `dry run, nothing was written: ${what} would be imported` : `${what} imported`
  const end = complete
    ? ''
    : `; interrupted after line ${line}, run it again to ${dryRun ? 'check' : 'import'} the rest`
  return `${done}${bad}${counts.length === 0 ? '' : ` (${counts.join(', ')})`}${end}`
}
