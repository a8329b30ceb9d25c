// Every command that changes something writes to the audit log, or stands below with the reason why it need not.
import assert from 'node:assert/strict'
import type { Command } from 'commander'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import {
  engines,
  rowsOf,
  serviceEnvironment,
  started,
  startedService,
  temporaryFolder,
} from '#test/harness/index.ts'
import { startSvixServer } from '#test/harness/svix-server.ts'
import type { AuditAction } from '../../src/accounts/audit/audit.ts'
import { newId } from '../../src/crypto/ids.ts'
import { commandLine } from '../../src/cli/program.ts'
import { subscribe } from '../emitting/harness.ts'
import { postern } from './command.ts'

/** Commands that write no entry, with the reason. */
const exceptions: Record<string, string> = {
  init: 'writes files of a new project',
  dev: 'runs serve',
  backup: 'reads',
  restore: 'the database is empty, and the entries of the backup are all there are',
  serve: 'what it does has entries of its own; starts and stops are in the service log',
  migrate: 'the table `migrations` has each with its time',
  'keys list': 'reads',
  'clients list': 'reads',
  sources: 'reads',
  'users sessions': 'reads',
  'users issuers': 'reads',
  send: 'a client of the service',
  listen: 'a client of the service: what it calls there has its entries',
  'audit export': 'reads',
  doctor: 'reads',
  'events list': 'reads',
  'events cancel': 'a client of the service: what it calls there has its entries',
  'dry-run': 'a client of the service: what it calls there has its entries',
  upgrade: 'reads',
  trigger: 'a client of the service',
  tail: 'a client of the service',
  completion: 'prints',
  'config check': 'reads',
  'config print': 'reads',
  types: 'writes a file of the project',
}

describe('the audit log and all commands', () => {
  const folder = temporaryFolder()
  const userId = newId(Date.now())
  const issuer = 'https://acme.example.com'
  const service = startedService(engines[0]!)
  const svix = started(startSvixServer)
  before(async () => {
    await service.database.transaction(async (tx) => {
      const user = { id: userId, email: null, name: 'Ada', provider: 'acme', provider_id: 'ada' } as const
      await tx
        .insertInto('users')
        .values({ ...user, role: 'user', blocked_at: null, created_at: 1 })
        .execute()
      const identity = { provider: 'acme', provider_id: 'ada', user_id: userId, issuer } as const
      const about = { email: null, email_verified: 0, name: null, created_at: 1, last_used_at: 1 }
      await tx
        .insertInto('identities')
        .values({ ...identity, ...about })
        .execute()
    })
    await subscribe(service, { url: 'http://127.0.0.1:9/' })
    writeFileSync(join(folder, 'users.ndjson'), '{"provider":"acme","providerId":"bob","name":"Bob"}\n')
  })

  const run = (...args: string[]) =>
    postern(folder, args, {
      ...serviceEnvironment(service.databaseUrl),
      SVIX_AUTH_TOKEN: svix.token,
    })
  async function beginSession(): Promise<void> {
    const now = Date.now()
    const times = { created_at: now, last_seen_at: now, authenticated_at: now, expires_at: now + 3_600_000 }
    const unknown = { address: null, user_agent: null, authentication_proof: null, acr: null, amr: null }
    const session = { id: newId(now), token_hash: Buffer.alloc(32, 1), user_id: userId, provider: 'acme' }
    await service.database.transaction((tx) =>
      tx
        .insertInto('sessions')
        .values({ ...session, ...unknown, ...times, revoked_at: null })
        .execute(),
    )
  }
  const newest = async (table: 'api_keys' | 'clients'): Promise<string> =>
    (await rowsOf(service, table, {}, 'id')).at(-1)!.id

  const commands: Record<string, [AuditAction, () => Promise<string[]>]> = {
    'keys create': ['key.created', async () => ['keys', 'create', 'ci', '--scope', 'events:write']],
    'keys revoke': ['key.revoked', async () => ['keys', 'revoke', await newest('api_keys')]],
    'keys rotate-signing': ['signing_key.rotated', async () => ['keys', 'rotate-signing']],
    'keys reseal': ['secrets.resealed', async () => ['keys', 'reseal']],
    'clients create': [
      'client.created',
      async () => ['clients', 'create', 'app', '--redirect-uri', 'https://app.example/callback'],
    ],
    'clients rotate-secret': [
      'client.secret_created',
      async () => ['clients', 'rotate-secret', await newest('clients')],
    ],
    'clients delete': ['client.deleted', async () => ['clients', 'delete', await newest('clients')]],
    'users block': ['user.blocked', async () => ['users', 'block', userId]],
    'users unblock': ['user.unblocked', async () => ['users', 'unblock', userId]],
    'users end-sessions': [
      'session.revoked',
      async () => {
        await beginSession()
        return ['users', 'end-sessions', userId]
      },
    ],
    'users move-issuer': [
      'identity.issuer_moved',
      async () => ['users', 'move-issuer', 'acme', issuer, `${issuer}/new`],
    ],
    'users role': ['user.role_changed', async () => ['users', 'role', userId, 'admin']],
    'users export': ['user.exported', async () => ['users', 'export', userId]],
    'users delete': ['user.deleted', async () => ['users', 'delete', userId]],
    lists: ['list.counts_changed', async () => ['lists', 'repair']],
    import: ['import.finished', async () => ['import', 'users', 'users.ndjson']],
    'import svix': ['import.finished', async () => ['import', 'svix', '--from', svix.url]],
    replay: ['replay.started', async () => ['replay', 'deliveries']],
  }

  test('each command that changes something writes an entry, or is an exception with a reason', async () => {
    const known = [...Object.keys(commands), ...Object.keys(exceptions)]
    assert.deepEqual(leavesOf(commandLine()).toSorted(), known.toSorted())
    for (const [command, [action, args]] of Object.entries(commands)) {
      const before = await entries(action)
      const { code, stderr } = await run(...(await args()))
      assert.equal(code, 0, `${command}: ${stderr}`)
      assert.equal(await entries(action), before + 1, `${command} wrote no ${action}`)
    }
  })

  const entries = async (action: AuditAction): Promise<number> =>
    (await rowsOf(service, 'audit_log', { action, actor: 'cli' })).length
})

/** The commands that do something, as `keys create`. */
function leavesOf(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((below) => {
    const name = [...path, below.name()]
    const isOne = below.commands.length === 0 || below.registeredArguments.length > 0
    return [...(isOne ? [name.join(' ')] : []), ...leavesOf(below, name)]
  })
}
