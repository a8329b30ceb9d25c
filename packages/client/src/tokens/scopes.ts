/** The scopes of a token's claim `scope` (RFC 9068, section 2.2.3). */
export function scopesOf({ scope }: { scope?: unknown }): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : []
}
