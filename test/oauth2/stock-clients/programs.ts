// Programs in other languages. A machine without a language or its libraries skips their tests; README.md says how to get them.
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const here = import.meta.dirname

/** A command that runs a program, or why this machine cannot. */
export type Program = { command: readonly string[] } | { missing: string }

/** A Python program; a variable names an interpreter that has the modules. Default: those of requirements.txt. */
export function pythonProgram(
  file: string,
  variable = 'STOCK_PYTHON',
  modules = ['authlib', 'httpx', 'jwt', 'requests'],
): Program {
  const python = process.env[variable] ?? 'python3'
  const { status } = spawnSync(python, ['-c', `import ${modules.join(', ')}`])
  if (status !== 0)
    return { missing: `${python} (${variable}) with the modules ${modules.join(', ')} is not installed` }
  return { command: [python, join(here, 'python', file)] }
}

let goFolder: string | undefined
/** A Go program, compiled from modules that are on this machine already: tests load nothing from the network. */
export function goProgram(name: string): Program {
  if (spawnSync('go', ['version']).status !== 0) return { missing: 'go is not installed' }
  if (goFolder === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'postern-go-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    goFolder = folder
  }
  const program = join(goFolder, name)
  const built = existsSync(program)
    ? { status: 0, stderr: '' }
    : spawnSync('go', ['build', '-o', program, `./${name}`], {
        cwd: join(here, 'go'),
        encoding: 'utf8',
        env: { ...process.env, GOPROXY: 'off', GOFLAGS: '-buildvcs=false' },
      })
  if (built.status === 0) return { command: [program] }
  if (/GOPROXY=off/.test(built.stderr)) return { missing: 'the Go modules are not installed' }
  throw new Error(built.stderr)
}

/** A Java program that needs Nimbus. CI does not install Maven for it, so this one is for those who ask: `STOCK_NIMBUS_JAR` names the library. */
export function javaProgram(file: string): Program {
  const version = '10.5'
  const jar =
    process.env['STOCK_NIMBUS_JAR'] ??
    join(homedir(), `.m2/repository/com/nimbusds/nimbus-jose-jwt/${version}/nimbus-jose-jwt-${version}.jar`)
  if (!existsSync(jar)) return { missing: `STOCK_NIMBUS_JAR does not name nimbus-jose-jwt ${version}` }
  if (spawnSync('java', ['-version']).status !== 0) return { missing: 'java is not installed' }
  return { command: ['java', '-cp', jar, join(here, 'java', file)] }
}

export interface Running {
  child: ChildProcessWithoutNullStreams
  write: (line: string) => void
  /** @throws Error with what the program printed to stderr, when it has ended */
  nextLine: () => Promise<string>
  stop: () => void
}

/** Starts a program that answers in lines. */
export function run(command: readonly string[], args: readonly string[]): Running {
  const [file, ...rest] = [...command, ...args]
  const child = spawn(file!, rest)
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    child,
    write: (line) => void child.stdin.write(`${line}\n`),
    async nextLine() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`${file!} ended: ${complaints}`)
      return value
    },
    stop: () => void child.kill(),
  }
}
