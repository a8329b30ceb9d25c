import { Type } from 'typebox'
import { idField } from '../writing/fields.ts'
import { NewPost } from '../writing/posts.ts'
import { itemTarget } from './item-target.ts'

export const ImportedPost = Type.Object({ ...NewPost.properties, _id: idField })

export const postTarget = itemTarget('posts', ImportedPost, ({ _id: id, title, body }, created_at) => ({
  id,
  title,
  body,
  created_at,
}))
