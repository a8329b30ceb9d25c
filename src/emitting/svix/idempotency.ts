import { createHash } from 'node:crypto'
import { sealedColumns } from '../../crypto/keyring.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { sleep } from '../../runtime/clock.ts'
import { type SvixCall, SvixError } from './call.ts'

/** A response as it is sent. Without text: 204. */
export interface Answer {
  status: number
  text: string | undefined
}

/** Milliseconds for which a response is stored. */
const lasts = 12 * 3_600_000
/** Milliseconds after which a request without a response counts as lost, for example because its process crashed. */
const longestRequest = 5_000
/** Milliseconds between polls of a request in progress. */
const lookEvery = 200

/**
 * The hash of a POST request's Idempotency-Key, caller and URL. `undefined` without the header, and for other methods. It differs for
 * applications that were created with the same uid, also without an event between them.
 */
export function idempotencyHash({ request, createdAt }: SvixCall): Buffer | undefined {
  const { headers, principal, method, url } = request
  const key = headers['idempotency-key']
  if (key === undefined || method !== 'POST') return undefined
  const { keyId, userId, clientId, sessionId } = principal ?? {}
  const caller = keyId ?? userId ?? clientId ?? sessionId
  return createHash('sha256')
    .update(JSON.stringify([caller, url, key, createdAt]))
    .digest()
}

type Parts = Pick<ModuleParts, 'database' | 'keyring' | 'clock'>

/**
 * Returns the stored response for the key, or runs `work` and stores its response. Failures are not stored, so a failed request can be
 * repeated.
 * @throws SvixError 409 if another request with the key is still in progress after 10 seconds
 */
export async function answerOnce(parts: Parts, hash: Buffer, work: () => Promise<Answer>): Promise<Answer> {
  const { database, keyring, clock } = parts
  const context = sealedColumns.idempotentResponse.context({ key_hash: hash })
  const responses = database.reader
    .selectFrom('idempotent_responses')
    .selectAll()
    .where('key_hash', '=', hash)
  for (let waited = 0; !(await begin(parts, hash)); waited += lookEvery) {
    const { status = null, body = null } = (await responses.executeTakeFirst()) ?? {}
    if (status !== null) return { status, text: body ? keyring.open(body, context).toString() : undefined }
    if (waited > 2 * longestRequest)
      throw new SvixError(409, 'conflict', 'A request with this Idempotency-Key is in progress.')
    await sleep(clock, lookEvery)
  }
  let answer: Answer
  try {
    answer = await work()
  } catch (error) {
    await database.transaction((tx) =>
      tx.deleteFrom('idempotent_responses').where('key_hash', '=', hash).execute(),
    )
    throw error
  }
  const { status, text } = answer
  const body = text === undefined ? null : keyring.seal(text, context)
  await database.transaction((tx) =>
    tx.updateTable('idempotent_responses').set({ status, body }).where('key_hash', '=', hash).execute(),
  )
  return answer
}

/** Inserts a request's row, or takes over a lost or expired one. Returns false if another request has the key. */
async function begin({ database, clock }: Parts, hash: Buffer): Promise<boolean> {
  const now = clock.now()
  const started = await database.transaction((tx) =>
    tx
      .insertInto('idempotent_responses')
      .values({ key_hash: hash, status: null, body: null, created_at: now })
      .onConflict((conflict) =>
        conflict
          .column('key_hash')
          .doUpdateSet({ status: null, body: null, created_at: now })
          .where((eb) =>
            eb.or([
              eb('idempotent_responses.created_at', '<=', now - lasts),
              eb.and([
                eb('idempotent_responses.status', 'is', null),
                eb('idempotent_responses.created_at', '<=', now - longestRequest),
              ]),
            ]),
          ),
      )
      .returning('created_at')
      .executeTakeFirst(),
  )
  return started !== undefined
}
