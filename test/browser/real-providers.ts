// Dex and Keycloak as they are, where the machine has them: `dex` in PATH or named by DEX, and Keycloak unpacked in KEYCLOAK_HOME. Maven has
// Keycloak (`org.keycloak:keycloak-quarkus-dist`, zip); Dex is built from its source (`go build ./cmd/dex`).
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { childEnvironment } from '../harness/child-environment.ts'
import { freePort } from '../harness/free-port.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'

export const password = 'password'
/** Of `password`, by bcrypt. */
const passwordHash = '$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W'
export const person = { username: 'ann', email: 'ann@example.com', name: 'Ann Example' }
const client = { id: 'postern', secret: 'secret-of-postern-at-the-provider' }

export interface RealProvider {
  /** The settings of the service for it. */
  env: Record<string, string>
  close(): Promise<void>
}

export interface RealProviderKind {
  name: 'dex' | 'keycloak'
  /** Why it cannot be started here. */
  missing: string | false
  /** @param redirectUris of the service */
  start(redirectUris: readonly string[]): Promise<RealProvider>
}

/** Runs a program until `close`. @param answers an address that answers 200 once it is ready */
async function run(command: readonly string[], answers: string, env: Record<string, string> = {}) {
  const [program, ...args] = command
  const child = spawn(program!, args, {
    env: { ...childEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${output}`)
    return fetch(answers).then(
      ({ ok }) => ok,
      () => false,
    )
  }, `${program} answers`)
  return async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
}

const dexProgram = process.env['DEX'] ?? 'dex'
const dex: RealProviderKind = {
  name: 'dex',
  missing: spawnSync(dexProgram, ['version']).status === 0 ? false : 'DEX does not name a Dex',
  async start(redirectURIs) {
    const folder = temporaryFolder()
    const address = `127.0.0.1:${await freePort()}`
    const issuer = `http://${address}/dex`
    const { username, email, name } = person
    const config = {
      issuer,
      storage: { type: 'memory' },
      web: { http: address },
      oauth2: { skipApprovalScreen: true },
      staticClients: [{ ...client, name: 'Postern', redirectURIs }],
      enablePasswordDB: true,
      staticPasswords: [{ email, username, name, userID: 'u-1', hash: passwordHash }],
    }
    // YAML contains JSON.
    writeFileSync(join(folder, 'dex.yaml'), JSON.stringify(config))
    const stop = await run(
      [dexProgram, 'serve', join(folder, 'dex.yaml')],
      `${issuer}/.well-known/openid-configuration`,
    )
    return {
      env: { DEX_ISSUER: issuer, DEX_CLIENT_ID: client.id, DEX_CLIENT_SECRET: client.secret },
      async close() {
        await stop()
      },
    }
  },
}

const keycloakHome = process.env['KEYCLOAK_HOME'] ?? ''
const keycloakScript = join(keycloakHome, 'bin/kc.sh')
const keycloak: RealProviderKind = {
  name: 'keycloak',
  missing:
    keycloakHome !== '' && existsSync(keycloakScript) ? false : 'KEYCLOAK_HOME does not name a Keycloak',
  async start(redirectUris) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const admin = { username: 'admin', password: 'admin' }
    const options = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem', '--cache=local']
    const stop = await run(['bash', keycloakScript, 'start-dev', ...options], `${url}/realms/master`, {
      ...(process.env['JAVA_HOME'] !== undefined && { JAVA_HOME: process.env['JAVA_HOME'] }),
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    })
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    const created = await fetch(`${url}/admin/realms`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(realm(redirectUris)),
    })
    if (created.status !== 201) throw new Error(`the realm was not created: ${await created.text()}`)
    return {
      env: {
        KEYCLOAK_BASE_URL: url,
        KEYCLOAK_REALM: 'people',
        KEYCLOAK_CLIENT_ID: client.id,
        KEYCLOAK_CLIENT_SECRET: client.secret,
        KEYCLOAK_END_SESSION: 'on',
      },
      close: stop,
    }
  },
}

function realm(redirectUris: readonly string[]): object {
  const [firstName, lastName] = person.name.split(' ')
  const { username, email } = person
  return {
    realm: 'people',
    enabled: true,
    clients: [
      {
        clientId: client.id,
        secret: client.secret,
        redirectUris,
        attributes: { 'pkce.code.challenge.method': 'S256', 'post.logout.redirect.uris': '+' },
      },
    ],
    users: [
      {
        username,
        email,
        emailVerified: true,
        firstName,
        lastName,
        enabled: true,
        credentials: [{ type: 'password', value: password, temporary: false }],
      },
    ],
  }
}

export const realProviderKinds: readonly RealProviderKind[] = [dex, keycloak]
