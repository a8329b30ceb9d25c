import type { Database, Tx } from '../../storage/database.ts'

/** Counts identities by provider and issuer. The issuer is null for identities without a sign-in since issuers are stored. */
export async function countByIssuer(
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
 * Rebinds all identities of a provider from one issuer to another one, and runs `record` in the same transaction. Returns
 * their number.
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
