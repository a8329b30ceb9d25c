// deploy/caddy and deploy/nginx, started as they are except for ports, certificate and addresses.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest, type Agent, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { childEnvironment } from '../harness/child-environment.ts'
import { selfSigned } from '../harness/certificate.ts'
import { freePort } from '../harness/free-port.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'

export const host = 'gate.example.com'

/** A proxy of deploy/, and how its file is changed for a test. */
interface ProxyKind {
  name: 'caddy' | 'nginx'
  file: string
  installed: boolean
  command(configFile: string): [string, ...string[]]
  adapt(file: string, parts: ProxyParts): string
}

interface ProxyParts {
  folder: string
  port: number
  /** `host:port` of the two processes. */
  upstreams: readonly [string, string]
}

/** Replaces the only place of `from`: a file that was changed must not be tested with an address of its own. */
function replaceOnce(file: string, from: string, to: string): string {
  if (file.split(from).length !== 2) throw new Error(`expected one place with ${from}`)
  return file.replace(from, () => to)
}

const caddy: ProxyKind = {
  name: 'caddy',
  file: 'deploy/caddy/Caddyfile',
  installed: spawnSync('caddy', ['version']).status === 0,
  command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  adapt(file, { folder, port, upstreams }) {
    const ports = `https_port ${port}\n auto_https disable_redirects\n default_bind 127.0.0.1\n admin off`
    const steps = [
      ['\n{\n', `\n{\n ${ports}\n`],
      [`\n{$SITE:${host}} {\n`, `\n${host} {\n tls ${folder}/cert.pem ${folder}/key.pem\n`],
      ['{$UPSTREAMS:postern-1:3000 postern-2:3000}', upstreams.join(' ')],
    ] as const
    return steps.reduce((all, [from, to]) => replaceOnce(all, from, to), file)
  },
}

const nginx: ProxyKind = {
  name: 'nginx',
  file: 'deploy/nginx/postern.conf',
  installed: spawnSync('nginx', ['-v']).status === 0,
  command: (file) => ['nginx', '-c', file],
  adapt(file, { folder, port, upstreams }) {
    const certificate = '/etc/letsencrypt/live/gate.example.com'
    const steps = [
      ['listen 80;', 'listen unix:redirect.sock;'],
      ['listen [::]:80;', ''],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['listen [::]:443 ssl http2;', ''],
      [`${certificate}/fullchain.pem`, `${folder}/cert.pem`],
      [`${certificate}/privkey.pem`, `${folder}/key.pem`],
      ['127.0.0.1:3001', upstreams[0]],
      ['127.0.0.1:3002', upstreams[1]],
    ] as const
    const site = steps.reduce((all, [from, to]) => replaceOnce(all, from, to), file)
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join('\n')
    return `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off;\n${paths}\n${site}}\n`
  },
}

export const proxyKinds: readonly ProxyKind[] = [caddy, nginx]

export interface Proxy {
  port: number
  /** The certificate, which clients have to trust. */
  ca: string
  /** Takes a process out by hand, for a proxy that does not ask whether it is ready. */
  takeOut?(upstream: string): void
  close(): Promise<void>
}

/** Starts the proxy; resolves when it listens. */
export async function startProxy(kind: ProxyKind, upstreams: ProxyParts['upstreams']): Promise<Proxy> {
  const folder = temporaryFolder()
  const port = await freePort()
  const { cert, key } = selfSigned(host)
  const config = kind
    .adapt(readFileSync(join(import.meta.dirname, '../..', kind.file), 'utf8'), { folder, port, upstreams })
    .replace('unix:redirect.sock', `unix:${folder}/redirect.sock`)
  for (const [name, content] of Object.entries({ 'cert.pem': cert, 'key.pem': key, config }))
    writeFileSync(join(folder, name), content)
  const [program, ...args] = kind.command(join(folder, 'config'))
  // Caddy stores its state below its home.
  const env = { ...childEnvironment(), HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${kind.name} ended:\n${output}`)
    return ask({ port, ca: cert }, '/').then(
      () => true,
      () => false,
    )
  }, `${kind.name} listens`).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    port,
    ca: cert,
    ...(kind.name === 'nginx' && {
      takeOut(upstream: string) {
        const file = join(folder, 'config')
        writeFileSync(
          file,
          replaceOnce(readFileSync(file, 'utf8'), `server ${upstream}`, `server ${upstream} down`),
        )
        // What `nginx -s reload` sends.
        child.kill('SIGHUP')
      },
    }),
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

export interface Ask extends Pick<RequestOptions, 'method' | 'localAddress'> {
  headers?: Record<string, string>
  body?: string | Buffer
  agent?: Agent
}

/** A call over TLS, with the name of the file's host. */
export async function ask(
  { port, ca }: Pick<Proxy, 'port' | 'ca'>,
  path: string,
  { body, headers, ...options }: Ask = {},
): Promise<Answer> {
  const call = httpsRequest({
    host: '127.0.0.1',
    port,
    path,
    ca,
    servername: host,
    headers: { host, ...headers },
    ...options,
  })
  call.end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, body: await text(response) }
}
