/** The headers that name the person to the application. */
export const identityHeaders = ['Remote-User', 'Remote-Email', 'Remote-Name', 'Remote-Groups'] as const

interface Named {
  readonly userId: string
  readonly email: string | undefined
  readonly name: string | undefined
  readonly groups: readonly string[]
}

/**
 * The headers of a person, as names and values in turn. All are always sent, empty if there is no value: the proxy then replaces
 * what the client sent under these names.
 */
export function headersOf(person: Named | undefined): readonly string[] {
  const { userId = '', email = '', name = '', groups = [] } = person ?? {}
  const values = [userId, encode(email), encode(name), groups.map(encodeGroup).join(',')]
  return identityHeaders.flatMap((header, index) => [header, values[index]!])
}

/**
 * Makes a text safe for a header: what is not printable ASCII, and `%`, is percent-encoded as UTF-8. Applications read it with
 * `decodeURIComponent` or the like.
 */
function encode(text: string): string {
  return text.toWellFormed().replaceAll(/[^ -$&-~]+|^ | $/gu, encodeURIComponent)
}

/** Groups are separated by commas. */
function encodeGroup(group: string): string {
  return encode(group).replaceAll(',', '%2C')
}

/** For people who are not signed in. */
export const emptyHeaders = headersOf(undefined)

/** The cookies of this service, which no application has to see. Over https their names begin with `__Host-`. */
const ownCookies = /(?:^|;) *(?:__Host-)?postern_[\w-]+=[^;]*/g

/** A Cookie header without the cookies of this service. */
export function withoutOwnCookies(cookie: string): string {
  return cookie.replaceAll(ownCookies, '').replace(/^[; ]+/, '')
}
