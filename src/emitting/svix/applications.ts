import type { EmittingRouteParts } from '../routes/area.ts'
import type { SvixOperations } from './call.ts'
import { readApplicationId } from './ids.ts'

export function applicationOperations(_parts: EmittingRouteParts): SvixOperations {
  const ok = { status: 'ok' }
  return {
    'v1.health.ping': async () => undefined,
    'v1.health.get': async () => ({ database: ok, queue: ok, cache: ok }),
  }
}

/**
 * The owner that an application's id or uid names.
 * @param recent whether an answer of the last second is enough
 */
export async function ownerOf(
  idOrUid: string,
  { database }: EmittingRouteParts,
  _recent: boolean,
): Promise<string | undefined> {
  const owner = readApplicationId(idOrUid) ?? idOrUid
  const row = await database.reader
    .selectFrom('owners')
    .select('owner')
    .where('owner', '=', owner)
    .executeTakeFirst()
  return row?.owner
}
