/**
 * The fixed segments of other routes below /auth: `/auth/sessions` would never lead to a provider `sessions`. A test compares
 * them with the declared routes, which `postern config check` does not have.
 */
const reservedNames: ReadonlySet<string> = new Set([
  'apps',
  'audit',
  'forward',
  'identities',
  'logout',
  'providers',
  'session',
  'sessions',
  'token',
])

/** Returns the fault of a provider's name that another route has, as a message. */
export function faultOfReservedName(name: string): string | undefined {
  return reservedNames.has(name)
    ? `${name} cannot be the name of a provider, since /auth/${name} is another call`
    : undefined
}
