import { headerOf, type HeaderSource } from '../http.ts'

/** As the service names it; over https with the prefix that binds a cookie to its host. */
const names = ['__Host-postern_session', 'postern_session']
const token = /^[A-Za-z0-9_-]{43}$/
const bearer = /^Bearer +([\x21-\x7e]{1,8192})$/i

/**
 * The headers that carry a request's credential: the bearer token if there is one, else the session cookie. All other cookies and
 * headers stay behind. `undefined` without a credential.
 */
export function credentialOf(request: HeaderSource): Record<string, string> | undefined {
  const authorization = headerOf(request, 'authorization')
  if (authorization !== undefined) {
    const value = bearer.exec(authorization)?.[1]
    return value === undefined ? undefined : { authorization: `Bearer ${value}` }
  }
  const cookie = sessionCookie(headerOf(request, 'cookie') ?? '')
  return cookie === undefined ? undefined : { cookie }
}

/** `name=value` of the session cookie. Of cookies of one name the first counts, as for the service. */
function sessionCookie(header: string): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim())
  for (const name of names) {
    const found = pairs.find((pair) => pair.startsWith(`${name}=`))
    if (found !== undefined && token.test(found.slice(name.length + 1))) return found
  }
  return undefined
}
