// A reader's project: the files and commands of the tutorial, carried out in an empty folder.
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from '../../harness/free-port.ts'
import { mainFile } from '../../harness/main-file.ts'
import { eventually } from '../../receiving/harness.ts'
import { startProgram, type Program } from '../../harness/program.ts'
import { programEnvironment } from './programs.ts'

const root = join(import.meta.dirname, '../../..')

/** The addresses of the tutorial, and those of a run. */
interface Ports {
  shop: number
  receiver: number
}

export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-tutorial-'))
  readonly #ports: Ports
  /** The first terminal, and the third one. */
  readonly #programs = new Map<'shop' | 'receiver', Program>()
  /** The last file that was written, and how much the first terminal had shown then. */
  #changed: { path: string; at: number } | undefined

  private constructor(ports: Ports) {
    this.#ports = ports
    const modules = join(this.folder, 'node_modules')
    mkdirSync(join(modules, '.bin'), { recursive: true })
    symlinkSync(join(root, 'node_modules/fastify'), join(modules, 'fastify'))
    const programs = { node: '', postern: ` '${mainFile}'` }
    for (const [name, file] of Object.entries(programs)) {
      const path = join(modules, '.bin', name)
      writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}'${file} "$@"\n`)
      chmodSync(path, 0o755)
    }
    writeFileSync(join(this.folder, '.curlrc'), 'silent\nshow-error\n')
  }

  static async create(): Promise<Project> {
    const project = new Project({ shop: await freePort(), receiver: await freePort() })
    const { folder } = project
    // `npm create postern` needs the published package; test/package/create.test.ts runs it.
    await project.run('mkdir new && npx postern init new --yes --empty --name shop && mv new/* new/.[a-z]* .')
    if (!readFileSync(join(folder, '.env'), 'utf8').includes('POSTERN_SECRET=')) throw new Error('no .env')
    return project
  }

  get base(): string {
    return `http://127.0.0.1:${this.#ports.shop}`
  }

  get receiver(): string {
    return `http://127.0.0.1:${this.#ports.receiver}/`
  }

  write(path: string, text: string): void {
    this.#changed = { path, at: this.#programs.get('shop')?.output().length ?? 0 }
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    writeFileSync(join(this.folder, path), text.replaceAll('4400', String(this.#ports.receiver)))
  }

  /** Resolves when `postern dev` has started again after the last change, which takes less time than a reader needs. */
  async settled(): Promise<void> {
    const { path, at } = this.#changed ?? {}
    const shop = this.#programs.get('shop')
    if (!path?.endsWith('.ts') || !shop?.output().includes('> postern dev')) return
    await eventually(() => {
      const since = shop.output().slice(at)
      return since.includes('"msg":"ready"', since.indexOf(`${path} has changed`) + 1 || since.length)
    }, `a start after ${path} changed`)
    this.#changed = undefined
  }

  /** Runs a command of the second terminal, where variables last. @returns what it prints, with the addresses of the tutorial */
  async run(command: string): Promise<string> {
    const state = join(this.folder, 'node_modules/.terminal')
    const script = `set -a; [ -f '${state}' ] && . '${state}'\n${this.#here(command)}\nexport -p > '${state}'`
    const output = await new Promise<string>((done) => {
      const options = { cwd: this.folder, env: this.#environment(), timeout: 300_000 }
      execFile('bash', ['-c', `{ ${script}\n} 2>&1`], options, (_error, stdout) => done(stdout))
    })
    return this.#there(output)
  }

  /** Starts a program in a terminal of its own, instead of the one that runs there. */
  async start(command: string): Promise<void> {
    const terminal = command.startsWith('npm') ? 'shop' : 'receiver'
    await this.#programs.get(terminal)?.stop()
    this.#changed = undefined
    const options = { cwd: this.folder, env: this.#environment() }
    this.#programs.set(terminal, startProgram(['bash', '-c', this.#here(command)], options))
  }

  /** What both programs have printed. */
  printed(): string {
    return this.#there([...this.#programs.values()].map((program) => program.output()).join('\n'))
  }

  async close(): Promise<void> {
    for (const program of this.#programs.values()) await program.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #environment(): Record<string, string> {
    const env = programEnvironment(this.folder)
    const PATH = `${join(this.folder, 'node_modules/.bin')}:${env['PATH']}`
    const own = { PATH, PORT: String(this.#ports.shop), CURL_HOME: this.folder, NO_COLOR: '1' }
    return { ...env, ...own, npm_config_update_notifier: 'false' }
  }

  #here(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:3000', this.base)
      .replaceAll('http://127.0.0.1:4400/', this.receiver)
  }

  #there(text: string): string {
    return text
      .replaceAll(this.base, 'http://127.0.0.1:3000')
      .replaceAll(this.receiver, 'http://127.0.0.1:4400/')
  }
}
