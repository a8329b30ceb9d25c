/** As in libpq: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TARGET-SESSION-ATTRS */
const sessionAttributes = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const

/** Which of several servers to use. */
export type SessionAttributes = (typeof sessionAttributes)[number]

/** What a value must be; `undefined` if any text is valid. */
type Expected = readonly string[] | 'a whole number' | undefined

/** Parameters that may have any text. */
const anyText = (names: string): Record<string, Expected> =>
  Object.fromEntries(names.split(' ').map((name) => [name, undefined]))

/** For `address.ts`. */
const own: Readonly<Record<string, Expected>> = {
  ...anyText('host hostaddr port dbname'),
  connect_timeout: 'a whole number',
  target_session_attrs: sessionAttributes,
  load_balance_hosts: ['disable', 'random'],
  channel_binding: ['disable', 'prefer', 'require'],
}

/** For the driver. */
const passedOn: Readonly<Record<string, Expected>> = {
  ...anyText('user password application_name fallback_application_name client_encoding options'),
  statement_timeout: 'a whole number',
  lock_timeout: 'a whole number',
  idle_in_transaction_session_timeout: 'a whole number',
  ssl: ['true', '1', 'false', '0', 'no-verify'],
  sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  ...anyText('sslcert sslkey sslrootcert'),
  uselibpqcompat: ['true', 'false'],
}

/** Accepted and ignored, because providers use them. They affect neither the choice of the server nor security. */
const withoutEffect: Readonly<Record<string, Expected>> = {
  ...anyText('keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout'),
  ...anyText('gsslib krbsrvname sslsni'),
  gssencmode: ['disable', 'prefer'],
  sslcompression: ['0'],
}

/** Known to libpq but not supported. Ignoring them could make the connection less secure than intended. */
const refused = new Set(
  `passfile service require_auth sslpassword sslcrl sslcrldir sslcertmode ssl_min_protocol_version
  ssl_max_protocol_version requirepeer requiressl replication gssdelegation scram_client_key scram_server_key
  min_protocol_version max_protocol_version sslkeylogfile`.split(/\s+/),
)

const known: Readonly<Record<string, Expected>> = { ...own, ...passedOn, ...withoutEffect }

export type UrlParameters = ReturnType<typeof readParameters>

/**
 * Parses the part after the question mark. Of several values of a parameter, the last one is used.
 * @throws Error that never contains a value, because a value may be a password
 */
export function readParameters(text: string) {
  const found = { own: new Map<string, string>(), passedOn: new URLSearchParams() }
  for (const [name, value] of new URLSearchParams(text)) {
    if (refused.has(name)) throw new Error(`the parameter ${name} is not supported`)
    // An unknown name could be a part of a password that was not percent-encoded.
    if (!Object.hasOwn(known, name))
      throw new Error(
        text.includes('@') || !/^\w{1,40}$/.test(name)
          ? 'it has an unknown parameter; percent-encode reserved characters such as ? and @ in a password'
          : `the parameter ${name} is unknown`,
      )
    check(name, value)
    if (Object.hasOwn(own, name)) found.own.set(name, value)
    // The driver treats the text `false` as true.
    else if (Object.hasOwn(passedOn, name))
      found.passedOn.set(name, name === 'ssl' && value === 'false' ? '0' : value)
  }
  return found
}

function check(name: string, value: string): void {
  const expected = known[name]
  if (expected === undefined) return
  if (expected === 'a whole number') {
    if (!/^\d{1,9}$/.test(value)) throw new Error(`the parameter ${name} must be a whole number`)
  } else if (!expected.includes(value))
    throw new Error(`the parameter ${name} must be one of ${expected.join(', ')}`)
}
