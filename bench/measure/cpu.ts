// CPU time of processes as Linux counts it: https://www.kernel.org/doc/html/latest/filesystems/proc.html
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

/** Clock ticks in a second, the unit of /proc. */
let ticks: number | undefined

function ticksPerSecond(): number {
  return (ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })))
}

interface Stat {
  parent: number
  /** Ticks of the process itself, and of its children that have ended and were waited for. */
  own: number
  ended: number
}

function statOf(pid: number): Stat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // It has ended.
    return undefined
  }
  // Behind the name, which may hold spaces: the fields from the third one on.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (field: number): number => Number(fields[field - 3])
  return { parent: at(4), own: at(14) + at(15), ended: at(16) + at(17) }
}

/** Seconds of CPU that a process has used, all of its threads together. Linux only. */
export function cpuOf(pid: number): number {
  return (statOf(pid)?.own ?? 0) / ticksPerSecond()
}

/** Seconds of CPU that a process and all children that it ever had have used. Linux only. */
export function cpuOfFamily(pid: number): number {
  const stat = statOf(pid)
  let sum = (stat?.own ?? 0) + (stat?.ended ?? 0)
  for (const name of readdirSync('/proc')) {
    const child = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    if (child?.parent === pid) sum += child.own
  }
  return sum / ticksPerSecond()
}

/** The process id of a PostgreSQL server on this machine: the parent of each session's process. */
export async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const parent = statOf(rows[0]!.pid)?.parent
    if (parent === undefined) throw new Error('the PostgreSQL server does not run on this machine')
    return parent
  } finally {
    await client.end()
  }
}
