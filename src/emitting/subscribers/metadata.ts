import { Type } from 'typebox'
import { invalidBody, Problem } from '../../errors.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'

const uidPattern = '^[A-Za-z0-9._-]{1,256}$'

/** The id that a caller chooses for a customer or an endpoint. Svix allows the same characters. */
export const Uid = Type.String({
  pattern: uidPattern,
  description: 'Your own id: 1 to 256 letters, digits and `. _ -`',
})

export const Metadata = Type.Record(Type.String(), Type.String(), {
  description: 'Your own strings by name, at most 4 KiB of JSON',
})

/** Bytes of JSON. */
const longest = 4096

const uid = new RegExp(uidPattern)

/** Whether a text can be a uid. Others may contain what PostgreSQL rejects in a parameter. */
export const isUid = (text: string): boolean => uid.test(text)

export type Texts = Readonly<Record<string, string>>

/** The column: JSON; null for no metadata. @throws Problem `invalid-body` */
export function writeMetadata(texts: Texts | null): string | null {
  if (texts === null || Object.keys(texts).length === 0) return null
  const json = JSON.stringify(texts)
  if (Buffer.byteLength(json) > longest)
    throw invalidBody('/metadata', `The metadata must be at most ${longest} bytes of JSON.`)
  return json
}

export function readMetadata(column: string | null): Texts {
  return column === null ? {} : (JSON.parse(column) as Texts)
}

/** Awaits a transaction that writes a uid. @throws Problem `conflict` if another row has the uid */
export async function unlessTaken<T>(uid: string | null | undefined, transaction: Promise<T>): Promise<T> {
  try {
    return await transaction
  } catch (error) {
    if (uid && isUniqueViolation(error)) throw takenUid(uid, error)
    throw error
  }
}

export function takenUid(uid: string, cause?: unknown): Problem {
  return new Problem('conflict', { detail: `The uid ${uid} is already in use.`, pointer: '/uid', cause })
}
