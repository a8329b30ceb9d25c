import type { Database, Tx } from '../storage/database.ts'

/** How many identities of a provider are bound to an issuer; null for those without a sign-in since that is kept. */
export async function issuersOf(
  database: Database,
): Promise<{ provider: string; issuer: string | null; count: number }[]> {
  return database.reader
    .selectFrom('identities')
    .select(['provider', 'issuer'])
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .groupBy(['provider', 'issuer'])
    .orderBy('provider')
    .orderBy('issuer')
    .limit(1_000)
    .execute()
}

/**
 * Binds all identities of a provider that are bound to one issuer to another one; `record` writes it down in the same
 * transaction. Gives how many.
 */
export async function rebindIssuer(
  database: Database,
  { provider, from, to }: { provider: string; from: string; to: string },
  record: (tx: Tx, count: number) => Promise<void>,
): Promise<number> {
  return database.transaction(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('identities')
      .set({ issuer: to })
      .where('provider', '=', provider)
      .where('issuer', '=', from)
      .executeTakeFirst()
    const count = Number(numUpdatedRows)
    if (count > 0) await record(tx, count)
    return count
  })
}
