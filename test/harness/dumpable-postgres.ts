// `pg_dump` refuses servers that are newer than it, and the package's server is the newest. A machine with an older one has its own server.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PostgresOptions } from './postgres.ts'
import { nativeFolder } from './postgres-binaries.ts'

/** @returns the major version of a program of PostgreSQL, or nothing if it is not there */
function versionOf(program: string): number | undefined {
  const printed = /\(PostgreSQL\) (\d+)/.exec(spawnSync(program, ['--version']).stdout?.toString() ?? '')
  return printed ? Number(printed[1]) : undefined
}

/** Where Debian and its relatives have the programs of a version, and where pg_config says that they are. */
const foldersOf = (version: number): string[] => [
  `/usr/lib/postgresql/${version}/bin`,
  spawnSync('pg_config', ['--bindir']).stdout?.toString().trim() ?? '',
]

/** @returns the options for a server that the `pg_dump` of this machine can dump, or nothing if it has no such server */
export function dumpable(): Pick<PostgresOptions, 'binaries'> | undefined {
  const dump = versionOf('pg_dump')
  if (dump === undefined) return undefined
  if (dump >= versionOf(join(nativeFolder('', false), 'bin/postgres'))!) return {}
  const binaries = foldersOf(dump).find(
    (folder) => versionOf(join(folder, 'postgres')) === dump && existsSync(join(folder, 'initdb')),
  )
  return binaries === undefined ? undefined : { binaries }
}
