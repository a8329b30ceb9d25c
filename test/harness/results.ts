// What the processes of tests report to test/run.ts, and what it prints at the end: all failures, and the slowest files.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** One failed test. */
export interface Failure {
  file: string
  /** With the names of the groups that it is in. */
  name: string
  /** The error with its stack. */
  error: string
}

/** Skipped tests or groups with one reason. */
export interface Skip {
  file: string
  name: string
  /** Empty if the test gives none. */
  reason: string
}

/** What the tests of one file took. */
export interface FileTime {
  file: string
  wallSeconds: number
  /** User and system time of the process and of the children that it has waited for. */
  cpuSeconds: number
}

const MAX_LINES = 60
const SLOWEST = 20
/** Linux counts the times of /proc in hundredths of a second, on all platforms of Node.js. */
const TICKS = 100

/** Appends a failure to the process's file of failures. */
export function recordFailure(tallyFile: string, failure: Failure): void {
  appendFileSync(`${tallyFile}.failures`, `${JSON.stringify(failure)}\n`)
}

/** The failures that a process recorded, in their order. */
export function readFailures(tallyFile: string): Failure[] {
  const file = `${tallyFile}.failures`
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Failure)
}

/** Appends a skipped test to the process's file of skips. */
export function recordSkip(tallyFile: string, skip: Skip): void {
  appendFileSync(`${tallyFile}.skips`, `${JSON.stringify(skip)}\n`)
}

/** The skips that a process recorded. */
export function readSkips(tallyFile: string): Skip[] {
  const file = `${tallyFile}.skips`
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Skip)
}

/**
 * Skips that CI does not accept: for something that the machine lacks, or without a reason. An engine that TEST_ENGINE leaves out is
 * never one of them, because somebody asked for it.
 */
export function unacceptable(skips: readonly Skip[]): Skip[] {
  if ('TEST_ENGINE' in process.env) return skips.filter(({ reason }) => lacking.test(reason))
  return skips.filter(({ reason }) => reason === '' || lacking.test(reason))
}

const lacking = /\b(?:is|are) not (?:installed|available)\b/

/** Each reason for skipping, and how many tests or groups gave it. */
export function describeSkips(skips: readonly Skip[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of skips) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const lines = [...counts].map(
    ([reason, count]) => `${String(count).padStart(6)}  ${reason || 'no reason given'}\n`,
  )
  return lines.length === 0 ? '' : `\nSkipped:\n${lines.join('')}`
}

/** The file with the names of the tests that have begun: if the process ends within one, nothing else tells. */
export const begunFile = (tallyFile: string): string => `${tallyFile}.begun`

/** The test that began last. */
export function readCurrentTest(tallyFile: string): string {
  const file = begunFile(tallyFile)
  const last = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) : undefined
  return last ? (JSON.parse(last) as string) : 'the start'
}

/** User and system time of this process and of the children that it has waited for, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + childrenSeconds()
}

/** Appends what a test without a group, or an outermost group, took. */
export function recordTime(tallyFile: string, time: FileTime): void {
  appendFileSync(`${tallyFile}.times`, `${JSON.stringify(time)}\n`)
}

/** User and system time of the children that this process has waited for, in seconds; 0 where the platform does not tell. */
function childrenSeconds(): number {
  if (process.platform !== 'linux') return 0
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name of the command, in brackets, may contain blanks. After it, cutime and cstime are fields 13 and 14.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS
}

/** Appends the name of a file that has no test. */
export function recordEmpty(tallyFile: string, file: string): void {
  appendFileSync(`${tallyFile}.empty`, `${file}\n`)
}

/** The files that have no test. */
export function readEmpty(tallyFile: string): string[] {
  const path = `${tallyFile}.empty`
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
}

/** The times that a process recorded, summed up for each file. */
export function readTimes(tallyFile: string): FileTime[] {
  const path = `${tallyFile}.times`
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return sumOf(lines.map((line) => JSON.parse(line) as FileTime))
}

/** One entry for each name. */
function sumOf(times: readonly FileTime[]): FileTime[] {
  const sums = new Map<string, FileTime>()
  for (const { file, wallSeconds, cpuSeconds } of times) {
    const sum = sums.get(file)
    sums.set(file, {
      file,
      wallSeconds: (sum?.wallSeconds ?? 0) + wallSeconds,
      cpuSeconds: (sum?.cpuSeconds ?? 0) + cpuSeconds,
    })
  }
  return [...sums.values()]
}

/** All failures, so that the end of a log says what failed. */
export function describeFailures(failures: readonly Failure[]): string {
  if (failures.length === 0) return ''
  const parts = failures.map(({ file, name, error }) => `✖ ${file}: ${name}\n${shorten(error)}\n`)
  return `\nFailed:\n\n${parts.join('\n')}`
}

function shorten(text: string): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines.slice(0, MAX_LINES)
  if (lines.length > MAX_LINES) shown.push(`… ${lines.length - MAX_LINES} more lines`)
  return shown.map((line) => `    ${line}`).join('\n')
}

/** The last lines of an output: where a process died, its reason is there. */
export function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-MAX_LINES).join('\n')
}

/** The files that took most wall time, the sums of all, and the folders that took most processor time. */
export function describeSlowest(times: readonly FileTime[]): string {
  const row = (wall: number, cpu: number, name: string) =>
    `${wall.toFixed(1).padStart(8)} ${cpu.toFixed(1).padStart(8)}  ${name}\n`
  const rows = (sorted: readonly FileTime[]) =>
    sorted.slice(0, SLOWEST).map((time) => row(time.wallSeconds, time.cpuSeconds, time.file))
  const slowest = rows(times.toSorted((a, b) => b.wallSeconds - a.wallSeconds))
  const folders = sumOf(times.map((time) => ({ ...time, file: `${dirname(time.file)}/` })))
  const busiest = rows(folders.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds))
  const wall = times.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0)
  const cpu = times.reduce((sum, time) => sum + time.cpuSeconds, 0)
  const all = row(wall, cpu, `all ${times.length} files`)
  return `\nSlowest:\n  wall s    CPU s\n${slowest.join('')}${all}\nFolders:\n${busiest.join('')}`
}
