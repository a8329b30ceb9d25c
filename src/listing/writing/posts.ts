import type { Static } from 'typebox'
import type { PostsTable } from '../../storage/tables.ts'
import { boundedText, changeOf, optionalId, optionalTime } from './fields.ts'
import { closedObject } from '../../http/schemas/schemas.ts'

const fields = {
  title: boundedText(0, 500, 'Title'),
  body: boundedText(0, 100_000, 'Text'),
}

export const NewPost = closedObject({ _id: optionalId, ...fields, createdAt: optionalTime })
export type NewPost = Static<typeof NewPost>

export const PostChange = changeOf(fields)

export function postRow({ _id: id, title, body }: NewPost, newId: string, createdAt: string): PostsTable {
  return { id: id ?? newId, title, body, created_at: createdAt }
}
