import { Type } from 'typebox'
import { canonicalTime, timeOf } from '../../paging/time.ts'
import type { PostsTable } from '../../storage/tables.ts'
import { idField } from '../writing/fields.ts'
import { NewPost } from '../writing/posts.ts'
import { createCheck, type ImportTarget } from './target.ts'

export const ImportedPost = Type.Object({ ...NewPost.properties, _id: idField })

/** See products.ts. */
interface Row {
  values: PostsTable
  keepsTime: boolean
}

const check = createCheck(ImportedPost)

export const postTarget: ImportTarget<Row> = {
  read(fields, now) {
    const { _id: id, createdAt, ...post } = check(fields)
    const time = createdAt === undefined ? timeOf(now) : canonicalTime(createdAt)
    return { values: { id, ...post, created_at: time }, keepsTime: createdAt === undefined }
  },
  keyOf: ({ values }) => values.id,
  async save(tx, rows) {
    for (const keepsTime of [false, true]) {
      const values = rows.filter((row) => row.keepsTime === keepsTime).map((row) => row.values)
      if (values.length === 0) continue
      await tx
        .insertInto('posts')
        .values(values)
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            title: eb.ref('excluded.title'),
            body: eb.ref('excluded.body'),
            created_at: eb.ref(keepsTime ? 'posts.created_at' : 'excluded.created_at'),
          })),
        )
        .execute()
    }
  },
}
