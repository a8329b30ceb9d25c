import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

const shown = 40

/** The functions of every profile in a folder that took the most time themselves, as shares of the time that was not idle. */
export function describeProfiles(folder: string): string {
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  const read = (file: string): CpuProfile =>
    JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
  return files.map((file) => describe(file, read(file))).join('\n\n')
}

function describe(name: string, { nodes, samples, timeDeltas }: CpuProfile): string {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const place = places.get(id)!
    times.set(place, (times.get(place) ?? 0) + timeDeltas[index]!)
  }
  times.delete('(idle)')
  const total = [...times.values()].reduce((sum, time) => sum + time, 0)
  const lines = [...times]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, shown)
    .map(([place, time]) => `${((100 * time) / total).toFixed(1).padStart(5)} %  ${place}`)
  return [`${name}: ${(total / 1e6).toFixed(1)} s of work`, ...lines].join('\n')
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  const file = url.replace(/^.*\/node_modules\//, '').replace(/^file:\/\/.*\/(src\/)/, '$1')
  return file === '' ? name : `${name}  ${file}:${lineNumber + 1}`
}
