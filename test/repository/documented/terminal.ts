import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { childEnvironment } from '../../harness/child-environment.ts'
import { mainFile } from '../../harness/main-file.ts'
import { root } from './blocks.ts'

const postern = `exec '${process.execPath}' '${mainFile}'`

/** Commands of a page that stand for this checkout. All others are those of the machine. */
const programs: Record<string, string> = {
  postern: `${postern} "$@"`,
  node: `exec '${process.execPath}' --no-warnings "$@"`,
  npx: `[ "$1" = postern ] || { echo "npx $1 is not run" >&2; exit 127; }\nshift; ${postern} "$@"`,
  npm: [
    'while [ "$1" = run ] || [ "$1" = -s ] || [ "$1" = --silent ]; do shift; done',
    '[ "$1 $2" = "postern --" ] || { echo "npm run $1 is not run" >&2; exit 127; }',
    `shift 2; ${postern} "$@"`,
  ].join('\n'),
}

/** Set, as in production, so that messages name the settings and not the file of demo mode. */
export const secrets = {
  POSTERN_SECRET: Buffer.alloc(32, 'documented').toString('base64'),
  WEBHOOK_SECRET: 'the-webhook-secret-of-the-pages',
  ADMIN_API_KEY: 'pk_the_key_of_the_pages_000000',
}

/** What `npm install` leaves in a project: the package, here with the sources of this checkout. */
const installed = {
  'node_modules/postern/package.json': JSON.stringify({
    type: 'module',
    exports: { '.': './index.js', './testing': './testing.js' },
  }),
  'node_modules/postern/index.js': `export * from '${source('index.ts')}'\n`,
  'node_modules/postern/testing.js': `export * from '${source('testing/index.ts')}'\n`,
}

function source(file: string): string {
  return pathToFileURL(join(root, 'src', file)).href
}

/** The addresses that pages show, of the service and of a database of the reader's own. */
const shown = 'http://127.0.0.1:3000'
const shownServer = 'postgres://postern:…@db/'

/** An administrator's programs, on the PostgreSQL that a place has of its own. */
function sudoFor({ hostname, port, username }: URL): string {
  return [
    '[ "$1 $2" = "-u postgres" ] || { echo "sudo $1 is not run" >&2; exit 127; }',
    `shift 2; PGHOST=${hostname} PGPORT=${port} PGUSER=${username} exec "$@"`,
  ].join('\n')
}

/** What a reader has before a command: by default a folder with a service in demo mode, as `npm start` leaves it. */
export interface Place {
  /** Files of the reader's project, by path. */
  files?: Readonly<Record<string, string>>
  /** Settings of the service and of all commands. */
  settings?: Readonly<Record<string, string>>
  /** Neither a service nor secrets. */
  empty?: boolean
  /** What the commands call the service. */
  name?: string
  /** A PostgreSQL of its own: the URL of its administrator. */
  server?: string
}

/** A folder, its service, and a shell in which the commands of pages run. */
export class Terminal {
  readonly #home = mkdtempSync(join(tmpdir(), 'documented-'))
  readonly #settings: Readonly<Record<string, string>>
  readonly #service: ChildProcess | undefined
  readonly #server: URL | undefined
  readonly #name: string
  #address = shown
  #log = ''

  constructor({ files = {}, settings = {}, empty = false, name = shown, server }: Place = {}) {
    this.#name = name
    this.#server = server === undefined ? undefined : new URL(server)
    this.#settings = empty ? settings : { ...secrets, ...settings }
    const env = Object.entries(this.#settings).map(([name, value]) => `${name}=${value}\n`)
    this.write({ ...installed, ...(!empty && { '.env': env.join('') }), ...files })
    mkdirSync(join(this.#home, 'bin'))
    const sudo = this.#server && { sudo: sudoFor(this.#server) }
    for (const [name, script] of Object.entries({ ...programs, ...sudo }))
      writeFileSync(join(this.#home, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    // Without it curl draws its progress where the output is no terminal.
    writeFileSync(join(this.#home, '.curlrc'), 'silent\nshow-error\n')
    if (!empty) this.#service = this.#serve()
  }

  #serve(): ChildProcess {
    const service = spawn(process.execPath, [mainFile, 'serve'], {
      cwd: this.#home,
      env: { ...childEnvironment(), HOME: this.#home, PORT: '0', ...this.#settings },
    })
    for (const stream of [service.stdout, service.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.#log += text))
    return service
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#home, path)), { recursive: true })
      writeFileSync(join(this.#home, path), text)
    }
  }

  /** Where the service listens. */
  get address(): string {
    return this.#address
  }

  /** What the service has printed, with the address that pages show. */
  printed(): string {
    return this.#log.replaceAll(this.#address, shown)
  }

  /** Resolves when the service answers, and has delivered its samples. */
  async ready(): Promise<void> {
    if (!this.#service) return
    const end = Date.now() + 300_000
    while (Date.now() < end && this.#service.exitCode === null) {
      // Not the address of its `ready`, which may be public.
      this.#address = /"Server listening at ([^"]+)"/.exec(this.#log)?.[1] ?? ''
      const answers = async (): Promise<boolean> =>
        (await fetch(`${this.#address}/readyz`).catch(() => undefined))?.ok === true
      // It listens before its samples are there: what a place does next, such as to stop the database, must not meet them.
      if (this.#address && this.#log.includes('"msg":"ready"') && (await answers())) {
        // The first page that is opened brings the samples.
        await fetch(`${this.#address}/login`)
        return
      }
      await wait(100)
    }
    throw new Error(`the service did not start:\n${this.#log}`)
  }

  /**
   * Runs a command of a page. Variables and the folder that it sets last until the end of the page.
   * @returns what it prints, with the address that pages show
   */
  async run(page: string, command: string): Promise<string> {
    const state = join(this.#home, `${page.replaceAll(/\W/g, '-')}.state`)
    const script = `set -a; [ -f '${state}' ] && . '${state}'\n${command}\n{ export -p; echo "cd '$PWD'"; } > '${state}'`
    const output = await new Promise<string>((done) => {
      const child = execFile(
        'bash',
        ['-c', `{ ${this.#real(script)}\n} 2>&1`],
        { cwd: this.#home, env: this.#environment(), timeout: 300_000, maxBuffer: 1e7 },
        (_error, stdout) => done(stdout),
      )
      child.stdin?.end()
    })
    return output.replaceAll(this.#address, this.#name).replaceAll(`${this.#home}/`, '')
  }

  /** A command of a page, with the addresses of this place. */
  #real(script: string): string {
    const server = this.#server ? `postgres://postern@${this.#server.host}/` : shownServer
    return script.replaceAll(this.#name, this.#address).replaceAll(shownServer, server)
  }

  #environment(): Record<string, string> {
    const env = childEnvironment()
    const PATH = `${join(this.#home, 'bin')}:${env['PATH']}`
    const port = new URL(this.#address).port
    const own = { PATH, HOME: this.#home, CURL_HOME: this.#home, NO_COLOR: '1', TZ: 'UTC' }
    const key = this.#settings['ADMIN_API_KEY']
    return {
      ...env,
      ...own,
      ...(this.#service && { PORT: port }),
      ...this.#settings,
      ...(key && { KEY: key }),
    }
  }

  async close(): Promise<void> {
    if (this.#service && this.#service.exitCode === null && this.#service.signalCode === null) {
      const ended = once(this.#service, 'close')
      this.#service.kill('SIGKILL')
      await ended
    }
    rmSync(this.#home, { recursive: true, force: true })
  }
}
