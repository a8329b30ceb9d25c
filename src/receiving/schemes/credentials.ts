import { headerOf, placedReader, type PlacedOptions } from './body.ts'
import { createScheme } from './create-scheme.ts'
import { findEqual } from './digest.ts'
import { type Check, type CommonOptions, type Delivery, refuse, type Scheme, type Secret } from './scheme.ts'

interface CredentialOptions extends CommonOptions, PlacedOptions {}

export interface BasicOptions extends CredentialOptions {
  user: string
  /** As `secret` of other sources: several separated by commas, or an array. */
  password: Secret
}

export interface BearerOptions extends CredentialOptions {
  /** As `secret` of other sources: several separated by commas, or an array. */
  token: Secret
}

export interface ApiKeyOptions extends CredentialOptions {
  /** The header of the key, in upper or lower case. */
  header: string
  /** As `secret` of other sources: several separated by commas, or an array. */
  key: Secret
}

/** What is weak about senders that repeat a credential. */
export const repeatsCredential =
  'gets its credential with each request and no signature: anyone who sees one request can forge others'

/**
 * A sender with HTTP Basic authentication (RFC 7617). Nothing is signed, so `https` alone protects the password and the body.
 * The id and the type are read as by `hmac()`.
 */
export function basic(options: BasicOptions): Scheme {
  const { user, password } = options
  return credential('basic', options, 'authorization', {
    secret: password,
    expected: (one) => `${user}:${one}`,
    signs: 'sends the user name and the password in the header `authorization` (Basic authentication)',
    read: (text) => Buffer.from(/^basic +([\w+/-]+={0,2})$/i.exec(text)?.[1] ?? '', 'base64').toString(),
  })
}

/** A sender with a bearer token (RFC 6750) in `Authorization`. Nothing is signed. The id and the type are read as by `hmac()`. */
export function bearer(options: BearerOptions): Scheme {
  return credential('bearer', options, 'authorization', {
    secret: options.token,
    signs: 'sends `Bearer TOKEN` in the header `authorization`',
    read: (text) => /^bearer +(\S+)$/i.exec(text)?.[1],
  })
}

/** A sender with a key in a header of its own. Nothing is signed. The id and the type are read as by `hmac()`. */
export function apiKey(options: ApiKeyOptions): Scheme {
  const header = options.header.toLowerCase()
  return credential('api-key', options, header, {
    secret: options.key,
    signs: `sends the key in the header \`${header}\``,
    read: (text) => text,
  })
}

interface Credential {
  secret: Secret
  signs: string
  /** What must be sent. Default: the secret. */
  expected?: (secret: string) => string
  /** Returns what is sent. */
  read: (header: string) => string | undefined
}

function credential(
  name: string,
  options: CredentialOptions,
  header: string,
  { secret, signs, expected, read }: Credential,
): Scheme {
  return createScheme({
    name,
    options: { ...options, secret },
    mediaTypes: options.mediaTypes,
    signatureHeader: header,
    signs,
    caution: repeatsCredential,
    check: comparedCheck(
      header,
      ({ headers }) => {
        const text = headerOf(headers, header)
        return text === undefined ? undefined : (read(text) ?? '')
      },
      expected,
    ),
    read: placedReader(options),
  })
}

/** Makes the check of a secret that `find` takes from the request, in constant time. @param place its name in refusals */
export function comparedCheck(
  place: string,
  find: (delivery: Delivery) => string | undefined,
  expectedOf = (secret: string): string => secret,
): (secrets: readonly string[]) => Check {
  return (secrets) => {
    const expected = secrets.map((secret) => Buffer.from(expectedOf(secret)))
    return (delivery) => {
      const text = find(delivery)
      if (text === undefined) return refuse(`${place} is missing`, 'signature-missing')
      const found = findEqual(expected, [Buffer.from(text)])
      return found === -1 ? refuse(`${place} does not match`) : { secret: secrets[found]! }
    }
  }
}
