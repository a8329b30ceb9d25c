import type { App } from '../http/app.ts'
import { cursorAnswer, offsetAnswer } from './envelope.ts'
import { presenter, type Item } from './items.ts'
import type { ListDeclaration } from './list.ts'
import type { Pages, Parameters } from './page.ts'
import { answerSchema, querySchema } from './schema.ts'
import type { Row } from './store.ts'

/** Changes items before they are shown, by what their own table does not hold. Made once for each answer. */
export type Revision = () => Promise<(item: Item) => Item>

/** Declares `GET` of one list. */
export function listRoute(app: App, list: ListDeclaration, pages: Pages, revision?: Revision): void {
  const presentRow = presenter(list)
  const schema = {
    tags: ['lists'],
    summary: list.summary,
    querystring: querySchema(list),
    response: { 200: answerSchema(list) },
  }
  app.get(
    list.path,
    { config: { access: list.access, openInDemo: true }, schema },
    async (request, reply) => {
      const parameters = request.query as Parameters
      const revise = await revision?.()
      const present = revise ? (row: Row): Item => revise(presentRow(row)) : presentRow
      const { body, link } =
        list.paging === 'offset'
          ? offsetAnswer(list, parameters, await pages.byOffset(list, parameters), present)
          : cursorAnswer(list, parameters, await pages.byCursor(list, parameters), present)
      if (link) reply.header('link', link)
      if (list.access !== 'public') reply.header('cache-control', 'no-store')
      // The body is JSON text already; as a string of this type it passes the response serializer by.
      return reply.header('content-type', 'application/json; charset=utf-8').send(body)
    },
  )
}
