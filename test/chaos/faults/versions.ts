import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../receiving/harness.ts'
import { migrationOf, newerSettings, versionOf } from '../postern/newer-version.ts'
import type { PosternProcess } from '../postern/process.ts'
import { readMarks } from '../postern/runs.ts'
import { now } from '../now.ts'
import type { World } from '../world.ts'
import { everywhere, last, type Fault } from './fault.ts'
import { replace } from './replace.ts'

/** Milliseconds from a breaking migration until an older process refuses calls. It gets a notification, and looks every 5 s. */
const longestNotice = 15_000
/** Milliseconds after the first refusal in which a handler may still begin, because its event was claimed before. */
const longestEnd = 2_000

interface Outdated {
  process: PosternProcess
  pid: number
  /** When its refusal was seen. */
  at: number
}

async function migrated({ topology }: World, number: number): Promise<void> {
  const applied = async (): Promise<boolean> => {
    await wait(100)
    return (await topology.query('select 1 from migrations where number = $1', [number])).length > 0
  }
  await eventually(applied, 'the newer version has migrated', 120_000)
}

/** Resolves when an older process is not ready and answers calls with the reason. */
async function outdated({ findings }: World, process: PosternProcess): Promise<Outdated> {
  const began = now()
  const refuses = async (): Promise<boolean> =>
    (await process.readiness()) === 503 && (await process.problem()) === 'database-newer'
  await eventually(refuses, 'an older process says that the database is newer', 60_000)
  const at = now()
  if (at - began > longestNotice)
    findings.push(`an older process noticed the migration after ${Math.round(at - began)} ms`)
  return { process, pid: process.pid, at }
}

/** Handler runs that an older process began after it had refused calls. */
function begunLate({ runsFile }: World, { pid, at }: Outdated): string[] {
  return readMarks(runsFile)
    .filter((mark) => mark.pid === pid && !mark.end && mark.at > at + longestEnd)
    .map(({ event }) => `an older process began to handle ${event}`)
}

const newer: Fault = {
  name: 'newer-version',
  topologies: everywhere,
  async run(world, chance) {
    const { processes, findings } = world
    const first = chance.pick(processes)
    const older = processes.filter((process) => process !== first)
    const version = versionOf(first.settings) + 1
    const ended = async (): Promise<Outdated[]> => {
      await migrated(world, migrationOf(version).number)
      return Promise.all(older.map((process) => outdated(world, process)))
    }
    const [refusing] = await Promise.all([
      ended(),
      replace(world, first, newerSettings(first.settings, version)),
    ])
    const both = await last(longestEnd + chance.ms(500, 6_000))
    findings.push(...refusing.flatMap((one) => begunLate(world, one)))
    for (const { process } of refusing)
      await replace(world, process, newerSettings(process.settings, version))
    return `${refusing.length} older processes beside a newer one for ${both}`
  },
}

export const versionFaults: readonly Fault[] = [newer]
