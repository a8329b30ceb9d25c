/** `undefined` stands for an environment variable that is not set. */
export type Secret = string | readonly string[] | undefined

/** The single secrets: a string is split at its commas, an array's entries are taken as they are. Empty ones are left out. */
export function readSecrets(secret: Secret): string[] {
  const given = typeof secret === 'string' ? secret.split(',').map((part) => part.trim()) : (secret ?? [])
  return given.filter((part) => part !== '')
}
