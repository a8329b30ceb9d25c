import { sql } from 'kysely'
import { Type } from 'typebox'
import { newId } from '../../crypto/ids.ts'
import { isRawNumber } from '../../json/exact.ts'
import type { Tx } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'
import { boundedText } from '../writing/routes.ts'
import { createCheck, type ImportTarget } from './target.ts'
import { nullable } from '../../http/schemas/schemas.ts'

const optionalOrNull = (description: string) => Type.Optional(nullable(boundedText(0, 320, description)))

const ImportedUser = Type.Object({
  email: optionalOrNull('E-mail address'),
  name: optionalOrNull('Name'),
  provider: boundedText(1, 64, "The provider's label"),
  providerId: boundedText(1, 255, "The provider's id of the user"),
})

type Identity = Pick<Tables['identities'], 'provider' | 'provider_id' | 'user_id' | 'email' | 'name'>

/** Without `email` or `name`, an existing user keeps its own. */
type Row = Pick<Identity, 'provider' | 'provider_id'> & {
  [name in 'email' | 'name']: string | null | undefined
}

const check = createCheck(ImportedUser)

/** The pair (provider, providerId) is the key. A user with this identity is updated; otherwise one is created. */
export const userTarget: ImportTarget<Row> = {
  read(fields, _now, isText) {
    const { email, name, provider, providerId } = check(withDigits(fields), isText)
    return { email, name, provider, provider_id: providerId }
  },
  keyOf: ({ provider, provider_id }) => JSON.stringify([provider, provider_id]),
  async save(tx, rows, now) {
    const known = await findIdentities(tx, rows)
    const created: Row[] = []
    for (const row of rows) {
      const identity = known.get(userTarget.keyOf(row))
      if (!identity) created.push(row)
      else await update(tx, identity, row, now)
    }
    if (created.length > 0) await create(tx, created, now)
    return { inserted: created.length, updated: rows.length - created.length, existing: 0 }
  },
}

/** Some providers' ids are numbers, even beyond 2^53. An import stores their digits, as a sign-in does. */
function withDigits(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { providerId: given } = fields
  const raw = typeof given === 'object' && given !== null && isRawNumber(given) ? given.rawJSON : undefined
  const number = raw === undefined ? given : Number(raw)
  if (Number.isSafeInteger(number)) return { ...fields, providerId: String(number) }
  return raw !== undefined && /^-?\d+$/.test(raw) ? { ...fields, providerId: raw } : fields
}

async function findIdentities(tx: Tx, rows: readonly Row[]): Promise<Map<string, Identity>> {
  const keys = rows.map(({ provider, provider_id }) => sql`(${provider}, ${provider_id})`)
  const found = await tx
    .selectFrom('identities')
    .select(['provider', 'provider_id', 'user_id', 'email', 'name'])
    .where(sql<boolean>`(provider, provider_id) in (values ${sql.join(keys)})`)
    .execute()
  return new Map(found.map((identity) => [userTarget.keyOf(identity), identity]))
}

/** Updates the identity, and the user if this identity is the one that created it. A new address is not verified. */
async function update(
  tx: Tx,
  identity: Identity,
  { email = identity.email, name = identity.name }: Row,
  now: number,
): Promise<void> {
  const { provider, provider_id, user_id } = identity
  const isMoved = email !== identity.email
  if (!isMoved && name === identity.name) return
  await tx
    .updateTable('identities')
    .set({ email, name, updated_at: now, ...(isMoved && { email_verified: 0 }) })
    .where('provider', '=', provider)
    .where('provider_id', '=', provider_id)
    .execute()
  await tx
    .updateTable('users')
    .set({ email, name })
    .where('id', '=', user_id)
    .where('provider', '=', provider)
    .where('provider_id', '=', provider_id)
    .execute()
}

async function create(tx: Tx, rows: readonly Row[], now: number): Promise<void> {
  const users = rows.map((row) => ({
    ...row,
    email: row.email ?? null,
    name: row.name ?? null,
    id: newId(now),
    role: 'user' as const,
    blocked_at: null,
    created_at: now,
  }))
  await tx.insertInto('users').values(users).execute()
  await tx
    .insertInto('identities')
    .values(
      users.map(({ id, email, name, provider, provider_id }) => ({
        provider,
        provider_id,
        user_id: id,
        email,
        // Only the provider can verify the address, at the next sign-in.
        email_verified: 0,
        name,
        created_at: now,
        last_used_at: now,
      })),
    )
    .execute()
}
