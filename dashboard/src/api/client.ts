import { createClient, PosternError, type Client } from 'postern-client/api'
import { fetchForPerson } from './activity.ts'
import { boot } from './boot.ts'

/** The typed calls of the service that served this page, with the cookie of the page. */
export const api: Client = createClient({
  url: location.origin + boot.basePath,
  fetch: fetchForPerson,
})

/** The absolute address of a path of the service, for links, downloads and texts to copy. */
export const addressOf = (path: string): string => location.origin + boot.basePath + path

export { PosternError }

/** Whether the service answered with this code of a problem, or with this status. */
export function isProblem(error: unknown, codeOrStatus: string | number): boolean {
  return error instanceof PosternError && (error.code === codeOrStatus || error.status === codeOrStatus)
}
