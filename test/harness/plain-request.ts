import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from 'node:http'

export interface PlainAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** A request as it is written. fetch would change the path, the Host and the Origin, and chooses the address that it comes from. */
export async function plainRequest(
  baseUrl: string,
  path: string,
  options: RequestOptions = {},
): Promise<PlainAnswer> {
  const call = request(baseUrl, { path, ...options }).end()
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  return { status: answer.statusCode!, headers: answer.headers, text }
}
