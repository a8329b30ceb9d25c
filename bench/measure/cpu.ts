// CPU time of processes: as the service itself tells it, and as Linux counts it
// (https://www.kernel.org/doc/html/latest/filesystems/proc.html).
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { withClient } from '../harness/databases.ts'
import { adminKey } from '../load/sample.ts'

/** In microseconds. */
export type Cpu = NodeJS.CpuUsage

/** What the service has taken since its start, all threads, as it tells itself. */
export async function cpuOfService(origin: string): Promise<Cpu> {
  const response = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })
  const text = await response.text()
  const read = (mode: keyof Cpu): number => {
    const seconds = new RegExp(`^postern_process_cpu_${mode}_seconds_total (\\S+)$`, 'm').exec(text)?.[1]
    if (seconds === undefined) throw new Error(`/metrics: ${response.status}, without the CPU's time`)
    return Number(seconds) * 1e6
  }
  return { user: read('user'), system: read('system') }
}

/** Runs work, and tells what a server took meanwhile. @param read what it has taken until now */
export async function cpuDuring<T>(
  read: () => Promise<Cpu>,
  work: () => Promise<T>,
): Promise<{ result: T; cpu: Cpu }> {
  const first = await read()
  const result = await work()
  const last = await read()
  return { result, cpu: { user: last.user - first.user, system: last.system - first.system } }
}

/** Microseconds in user and in system mode. */
export const totalOf = ({ user, system }: Cpu): number => user + system

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
  const parent = await withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return statOf(rows[0]!.pid)?.parent
  })
  if (parent === undefined) throw new Error('the PostgreSQL server does not run on this machine')
  return parent
}
