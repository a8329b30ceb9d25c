import { request } from 'undici'

const headers = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.5',
}

export interface Redirect {
  location: string
  /** As the browser will send them: name=value, joined. */
  cookies: string
}

/** Opens an address that must redirect. The connection is kept for the next one. */
export async function follow(address: string, cookies = ''): Promise<Redirect> {
  const response = await request(address, {
    headers: cookies === '' ? headers : { ...headers, cookie: cookies },
  })
  const body = await response.body.text()
  const { location, 'set-cookie': set = [] } = response.headers
  if (typeof location !== 'string') throw new Error(`${address}: ${response.statusCode} ${body}`)
  const pairs = [set].flat().map((cookie) => cookie.split(';', 1)[0]!)
  return { location: new URL(location, address).href, cookies: pairs.join('; ') }
}

/** A whole sign-in of a browser that has no cookie yet, up to the redirect that brings the session. Gives its cookies. */
export async function signIn(origin: string, provider: string): Promise<string> {
  const begun = await follow(`${origin}/auth/${provider}`)
  const { location: callback } = await follow(begun.location)
  const { location, cookies } = await follow(callback, begun.cookies)
  if (location !== `${origin}/dashboard` || !cookies.includes('postern_session='))
    throw new Error(`a sign-in ended at ${location}`)
  return cookies
}
