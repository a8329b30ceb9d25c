import { isObject } from '../../json/exact.ts'
import { sql, type Transaction } from 'kysely'
import type { User, Users } from '../../accounts/users/users.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { transactionOver } from '../../storage/query-runner.ts'
import { rejectBeyondTransaction } from '../../storage/statement-kinds.ts'
import { TransactionOver } from '../../storage/lazy-transaction.ts'
import { withinTime } from '../../storage/unavailable.ts'

/** Any tables with any columns. */
type AnyTables = Record<string, Record<string, unknown>>
type Claims = Readonly<Record<string, unknown>>

/** The argument of the hook `login.claims`. */
export interface ClaimsContext<DB = AnyTables> {
  readonly user: Readonly<User>
  /** The client id of the app. */
  readonly client: string
  /** Those of the access token. */
  readonly scopes: readonly string[]
  /** Read-only. It begins with the first query, ends with the hook, and never has SQLite's write lock. */
  readonly tx: Transaction<DB>
}

/**
 * Adds claims to the id_token, the access token and the userinfo response. Runs whenever tokens are issued, and for each userinfo
 * request. If it fails, so does the request; a refresh token remains valid.
 */
export type ClaimsHook<DB = AnyTables> = (
  context: ClaimsContext<DB>,
) => Promise<Claims | undefined> | Claims | undefined

/** Milliseconds for the hook: an app waits for it at each refresh. */
const timeout = 2_000
/** The maximum claims, bytes of their JSON, and levels. Tokens are sent in a header, and many proxies accept 8 KiB of headers. */
const limits = { names: 50, bytes: 4_096, depth: 10 }

/**
 * Claims that have a meaning here or in the standards: RFC 7519 (4.1), OpenID Connect Core (2, 3.1.3.6, 3.3.2.11, 5.1, 5.6.2), the
 * logout specifications, RFC 9068 (2.2), RFC 8693 (4), RFC 7800 (3), RFC 9396 (9), RFC 7662 (2.2). `roles` and `entitlements` of RFC
 * 9068 are free, because the service does not set them.
 */
const registered = new Set(
  `iss sub aud exp nbf iat jti auth_time nonce acr amr azp at_hash c_hash s_hash sid events sub_jwk sub_id scope client_id groups act
  may_act cnf authorization_details active token_type username name given_name family_name middle_name nickname preferred_username
  profile picture website email email_verified gender birthdate zoneinfo locale phone_number phone_number_verified address
  updated_at _claim_names _claim_sources`.split(/\s+/),
)
/** Names with which a careless parser changes its objects' prototype. */
const unsafe = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * The claims of the hook `login.claims`; empty without it.
 * @param about.scope separated by spaces; null for a sign-in at GET /auth/{provider}
 * @throws Error, of the hook or about what it returned
 */
export async function ownClaims(
  { database, users, clock, claimsHook: hook }: OwnClaimsNeeds,
  about: { userId: string; clientId: string; scope: string | null },
): Promise<Record<string, unknown>> {
  const user = hook && (await users.find(database.reader, about.userId))
  if (!hook || !user) return {}
  const scopes = (about.scope ?? '').split(' ').filter((one) => one !== '')
  const { tx, end } = readingTransaction(database)
  // The type shows only the user's tables, not those of the service.
  const lent = tx as unknown as ClaimsContext['tx']
  const run = async (): Promise<unknown> => hook({ user, client: about.clientId, scopes, tx: lent })
  try {
    // The hook itself cannot be stopped; its late result is ignored, and its queries fail.
    return checked(await withinTime(clock, timeout, run(), fault(`did not end within ${timeout} ms`)))
  } finally {
    await end()
  }
}

/** Not all services of the module: the package includes the types of this file, and would then include theirs. */
interface OwnClaimsNeeds {
  database: Database
  users: Users
  clock: Clock
  claimsHook: ClaimsHook | undefined
}

function readingTransaction(database: Database): { tx: Tx; end: () => Promise<void> } {
  const { engine } = database
  const own = engine === 'postgres' ? database.begin({ timeLimit: timeout }) : undefined
  let begun: Promise<unknown> | undefined
  let isOver = false
  const tx = transactionOver(engine, async (query) => {
    rejectBeyondTransaction(engine, query.sql)
    // The engines also reject writes, but as if the whole database were read-only.
    if (!/^[\s(]*(?:select|with|values)\b/i.test(query.sql)) throw fault('must only read with its tx')
    if (isOver) throw new TransactionOver('rolled back')
    if (!own) return database.reader.executeQuery(query)
    begun ??= sql`set transaction read only`.execute(own.tx)
    await begun
    return own.tx.executeQuery(query)
  })
  return {
    tx,
    async end() {
      isOver = true
      await own?.rollback()
    },
  }
}

/** The hook's result after a round trip through JSON. @throws Error that names the fault, for the log */
function checked(returned: unknown): Record<string, unknown> {
  if (returned === undefined) return {}
  const json = jsonOf(returned)
  if (Buffer.byteLength(json) > limits.bytes) throw fault(`returned more than ${limits.bytes} bytes of JSON`)
  const claims: unknown = JSON.parse(json)
  if (!isObject(claims)) throw fault('must return an object')
  const all = Object.entries(claims)
  if (all.length > limits.names) throw fault(`returned more than ${limits.names} claims`)
  for (const [name] of all)
    if (registered.has(name)) throw fault(`returned ${name}, which is a registered claim`)
  rejectDeep(claims, limits.depth)
  // OpenID Connect Core, section 5.3.2: a claim without a value is missing.
  return Object.fromEntries(all.filter(([, value]) => value !== null))
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch (cause) {
    throw fault('returned a value that is not JSON', cause)
  }
}

function rejectDeep(value: unknown, levels: number): void {
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) throw fault(`returned more than ${limits.depth} levels`)
  for (const [name, child] of Object.entries(value)) {
    if (unsafe.has(name)) throw fault(`returned the name ${name}`)
    rejectDeep(child, levels - 1)
  }
}

function fault(what: string, cause?: unknown): Error {
  return new Error(`login.claims ${what}`, { cause })
}
