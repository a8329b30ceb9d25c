import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { type Static, Type } from 'typebox'
import { type Keyring, type SealContext, sealedColumns } from '../../crypto/keyring.ts'
import { invalidBody, type Problem } from '../../errors.ts'
import { closedObject, storablePattern } from '../../http/schemas/schemas.ts'
import { type Egress, faultOfDestination } from '../../network/egress.ts'
import type { Row } from '../../storage/tables.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import type { Secrets } from './destinations.ts'

const authTypes = ['basic', 'bearer', 'oauth'] as const

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, pattern: storablePattern, description }))
const secret = (maxLength: number, of: string) =>
  text(maxLength, `The ${of}. Shown as \`${redactedValue}\`, which keeps the stored one`)

export const AuthBody = closedObject(
  {
    type: Type.Enum(authTypes),
    user: text(256, '`basic`: the user, without a colon'),
    password: secret(1024, 'password of `basic`'),
    token: secret(4096, 'token of `bearer`'),
    tokenUrl: text(2048, '`oauth`: the token endpoint'),
    clientId: text(256, '`oauth`: the client'),
    clientSecret: secret(1024, 'client secret of `oauth`'),
    scope: text(1024, '`oauth`: the scope to request'),
    audience: text(1024, '`oauth`: the `audience` to request'),
    clientAuthentication: Type.Optional(
      Type.Enum(['header', 'body'], {
        description: '`oauth`: where the token endpoint takes client and secret. Default: header',
      }),
    ),
  },
  { description: 'How requests authenticate, by the `authorization` header' },
)

/** Characters of a PEM text: a chain of some certificates. */
const longestPem = 32 * 1024

export const TlsBody = closedObject(
  {
    certificate: text(longestPem, 'The client certificate with its chain, PEM'),
    key: secret(longestPem, 'private key of the client certificate, PEM without a passphrase'),
    ca: text(longestPem, 'The only certificate authorities that are accepted, PEM. Default: the public ones'),
  },
  { description: 'For endpoints that require a client certificate, or have a private certificate authority' },
)

export type Auth = Static<typeof AuthBody>
type EndpointTls = Static<typeof TlsBody>

/** The secrets of a destination. All of them are hidden. */
export const SecretsBody = Type.Record(
  Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' }),
  Type.String({ minLength: 1, maxLength: 16 * 1024, pattern: storablePattern }),
  { maxProperties: 16, description: `Shown as \`${redactedValue}\`, which keeps the stored value` },
)

/** What a subscriber's requests authenticate with. */
export interface Credentials {
  auth?: Auth | undefined
  tls?: EndpointTls | undefined
  secrets?: Secrets | undefined
}

/** The fields that are never shown. */
const hidden = ['password', 'token', 'clientSecret', 'key'] as const

/** The fields of each type, the required ones first. */
const fields: Readonly<Record<Auth['type'], { required: (keyof Auth)[]; optional: (keyof Auth)[] }>> = {
  basic: { required: ['user', 'password'], optional: [] },
  bearer: { required: ['token'], optional: [] },
  oauth: {
    required: ['tokenUrl', 'clientId', 'clientSecret'],
    optional: ['scope', 'audience', 'clientAuthentication'],
  },
}

/**
 * Validates the given credentials: `null` removes them, `undefined` keeps those of `before`, and `[redacted]` selects a stored value.
 * @throws Problem `invalid-body`
 */
export function readCredentials(
  given: { [Part in keyof Credentials]: Credentials[Part] | null },
  before: Credentials,
  egress: Egress,
): Credentials {
  const auth =
    given.auth === undefined ? before.auth : given.auth && readAuth(given.auth, before.auth, egress)
  const tls = given.tls === undefined ? before.tls : given.tls && readTls(given.tls, before.tls)
  const secrets =
    given.secrets === undefined
      ? before.secrets
      : withStored('secrets', given.secrets ?? {}, before.secrets, Object.keys(given.secrets ?? {}))
  return { ...(auth && { auth }), ...(tls && { tls }), ...(secrets && { secrets }) }
}

function readAuth(given: Auth, before: Auth | undefined, egress: Egress): Auth {
  const { required, optional } = fields[given.type]
  const known = new Set<string>(['type', ...required, ...optional])
  const foreign = Object.keys(given).find((name) => !known.has(name))
  if (foreign !== undefined) throw invalid('auth', foreign, `does not belong to the type ${given.type}`)
  // A stored secret is for the server that it was given for.
  const isSame =
    before?.type === given.type &&
    (given.type !== 'oauth' || originOf(before.tokenUrl) === originOf(given.tokenUrl))
  const auth = withStored('auth', given, isSame ? before : undefined)
  const missing = required.find((name) => auth[name] === undefined)
  if (missing !== undefined) throw invalid('auth', missing, `is required for the type ${given.type}`)
  if (auth.user?.includes(':')) throw invalid('auth', 'user', 'must not contain a colon')
  if (auth.token !== undefined && !/^[!-~]+$/.test(auth.token))
    throw invalid('auth', 'token', 'must be visible ASCII characters')
  const fault = auth.tokenUrl === undefined ? undefined : faultOfDestination(auth.tokenUrl, egress)
  if (fault !== undefined) throw invalidBody('/auth/tokenUrl', `The token endpoint: ${fault}`)
  return auth
}

function readTls(given: EndpointTls, before: EndpointTls | undefined): EndpointTls {
  const { certificate, key, ca } = withStored('tls', given, before)
  if ((certificate === undefined) !== (key === undefined))
    throw invalid(
      'tls',
      certificate === undefined ? 'certificate' : 'key',
      'is required: both belong together',
    )
  try {
    // An authority that cannot be read would be ignored.
    const [, ...authorities] =
      ca === undefined ? [] : ca.split('-----BEGIN').map((part) => `-----BEGIN${part}`)
    if (ca !== undefined && authorities.length === 0) authorities.push(ca)
    for (const one of authorities) readCertificate(one)
    createSecureContext({ cert: certificate, key, ca })
  } catch (error) {
    const reason = (error as { reason?: unknown }).reason
    const why = typeof reason === 'string' ? `: ${reason}` : ''
    throw invalidBody(
      '/tls',
      `The certificates or the key are not valid PEM, do not belong together, or the key has a passphrase${why}.`,
    )
  }
  return { ...(certificate && { certificate, key }), ...(ca && { ca }) }
}

function readCertificate(pem: string): X509Certificate {
  return new X509Certificate(pem)
}

/** Replaces `[redacted]` by the stored value. */
function withStored<T extends object>(
  part: keyof Credentials,
  given: T,
  before: T | undefined,
  names: readonly string[] = hidden,
): T {
  const whole = { ...given } as Record<string, string | undefined>
  for (const name of names) {
    if (whole[name] !== redactedValue) continue
    const stored = (before as Record<string, string | undefined> | undefined)?.[name]
    if (stored === undefined)
      throw invalid(
        part,
        name,
        `must be sent: ${redactedValue} selects the stored value, and none is stored for this address or these settings`,
      )
    whole[name] = stored
  }
  return whole as T
}

function originOf(url: string | undefined): string | undefined {
  return URL.parse(url ?? '')?.origin
}

function invalid(part: keyof Credentials, field: string, rule: string): Problem {
  return invalidBody(`/${part}/${field}`, `The ${part}'s ${field} ${rule}.`)
}

/** The credentials for responses. */
export function showCredentials({ auth, tls, secrets }: Credentials) {
  const redacted = Object.keys(secrets ?? {}).map((name) => [name, redactedValue] as const)
  return {
    auth: auth ? redact(auth) : null,
    tls: tls ? redact(tls) : null,
    secrets: secrets ? Object.fromEntries(redacted) : null,
  }
}

function redact<T extends object>(part: T): T {
  const shown = { ...part } as Record<string, unknown>
  for (const name of hidden) if (shown[name] !== undefined) shown[name] = redactedValue
  return shown as T
}

/** The JSON that a column has encrypted. An empty object is null. */
function openJson<T extends object>(keyring: Keyring, sealed: Uint8Array | null, context: SealContext): T {
  return (sealed ? JSON.parse(keyring.open(sealed, context).toString()) : {}) as T
}

function sealJson(keyring: Keyring, value: object, context: SealContext): Buffer | null {
  return Object.keys(value).length === 0 ? null : keyring.seal(JSON.stringify(value), context)
}

export function openCredentials(
  keyring: Keyring,
  row: Pick<Row<'subscribers'>, 'id' | 'credentials'>,
): Credentials {
  return openJson(keyring, row.credentials, sealedColumns.subscriberCredentials.context(row))
}

export function sealCredentials(keyring: Keyring, id: string, credentials: Credentials): Buffer | null {
  return sealJson(keyring, credentials, sealedColumns.subscriberCredentials.context({ id }))
}

type Headers = Readonly<Record<string, string>>

/** Custom headers are encrypted, because they may contain credentials. */
export function openHeaders(keyring: Keyring, row: Pick<Row<'subscribers'>, 'id' | 'headers'>): Headers {
  return openJson(keyring, row.headers, sealedColumns.subscriberHeaders.context(row))
}

export function sealHeaders(keyring: Keyring, id: string, headers: Headers): Buffer | null {
  return sealJson(keyring, headers, sealedColumns.subscriberHeaders.context({ id }))
}
