import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { diskFolder, withClient } from '../harness/databases.ts'
import { median } from '../measure/outcome.ts'

export interface Machine {
  cpu: string
  cores: number
  memoryGiB: number
  system: string
  node: string
  sqlite: string
  postgres: string | undefined
  /** Milliseconds that a write of 4 KiB takes until the disk says that it is kept. */
  durableWriteMs: number
}

export async function describeMachine(postgresServer: string | undefined): Promise<Machine> {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    sqlite: process.versions['sqlite'] ?? 'unknown',
    postgres: postgresServer === undefined ? undefined : await postgresVersion(postgresServer),
    durableWriteMs: measureDurableWrite(),
  }
}

async function postgresVersion(url: string): Promise<string> {
  const names = ['server_version', 'fsync', 'synchronous_commit']
  const [version, fsync, commit] = await withClient(url, async (client) => {
    const shown: string[] = []
    for (const name of names) {
      const { rows } = await client.query<Record<string, string>>(`show ${name}`)
      shown.push(rows[0]![name]!)
    }
    return shown
  })
  return `${version} (fsync ${fsync}, synchronous_commit ${commit})`
}

/** Tells what a durable commit costs here at least: some virtual disks say "kept" at once. */
function measureDurableWrite(): number {
  const path = join(diskFolder(), `postern-bench-${process.pid}.sync`)
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4096, 1)
  try {
    const times = Array.from({ length: 50 }, () => {
      const began = performance.now()
      writeSync(file, page)
      fdatasyncSync(file)
      return performance.now() - began
    })
    return median(times)
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
