import { Type, type Static } from 'typebox'
import type { PostsTable } from '../../storage/tables.ts'
import { boundedText, idField, readTime, timeField } from './fields.ts'

const fields = {
  title: boundedText(0, 500, 'Title'),
  body: boundedText(0, 100_000, 'Text'),
}

export const NewPost = Type.Object(
  { _id: Type.Optional(idField), ...fields, createdAt: Type.Optional(timeField) },
  { additionalProperties: false },
)
export type NewPost = Static<typeof NewPost>

export const PostChange = Type.Partial(Type.Object({ ...fields, createdAt: timeField }), {
  additionalProperties: false,
})
export type PostChange = Static<typeof PostChange>

/** The row of a post. `id` and `createdAt` are used if the body has none. */
export function postRow(post: NewPost, id: string, createdAt: string): PostsTable {
  const { _id = id, title, body } = post
  return {
    id: _id,
    title,
    body,
    created_at: post.createdAt === undefined ? createdAt : readTime(post.createdAt),
  }
}

export function postUpdate({ createdAt, ...change }: PostChange): Partial<PostsTable> {
  return createdAt === undefined ? change : { ...change, created_at: readTime(createdAt) }
}
