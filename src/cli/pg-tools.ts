import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, renameSync, rmSync } from 'node:fs'
import { parseAddress } from '../storage/postgres/servers/address.ts'
import { CommandFailure } from './command-failure.ts'

/** Writes a dump in PostgreSQL's custom format. @throws CommandFailure if `pg_dump` is missing or fails */
export async function dumpPostgres(url: string, file: string, signal: AbortSignal): Promise<void> {
  const partial = `${file}.partial`
  try {
    // The dump holds what the database holds: `pg_dump` keeps the mode of a file that exists.
    rmSync(partial, { force: true })
    closeSync(openSync(partial, 'wx', 0o600))
    await runTool(
      'pg_dump',
      ['--format=custom', '--no-owner', '--no-privileges', `--file=${partial}`],
      url,
      signal,
    )
    renameSync(partial, file)
  } finally {
    rmSync(partial, { force: true })
  }
}

/**
 * Restores a dump in one transaction, so that the database stays empty if it fails.
 * @throws CommandFailure if `pg_restore` is missing or fails
 */
export async function restorePostgres(url: string, file: string, signal: AbortSignal): Promise<void> {
  const options = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error']
  await runTool('pg_restore', [...options, file], url, signal)
}

async function runTool(program: string, args: string[], url: string, signal: AbortSignal): Promise<void> {
  const { url: address, password } = parseAddress(url).forPrograms
  const child = spawn(program, [`--dbname=${address}`, ...args], {
    signal,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...(password !== undefined && { PGPASSWORD: password }) },
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2_000)))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new CommandFailure(`${program} failed: ${output.trim()}`)
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT')
      throw new CommandFailure(
        `${program} is not on this machine: install the client programs of PostgreSQL, of the server's version or newer`,
      )
    throw error
  }
}
