import { ConfigurationError } from '../config/environment.ts'

/**
 * Refuses a provider whose name is a fixed segment of another route below /auth: `/auth/sessions` would never lead to a provider
 * `sessions`. The names come from the declared routes, so that a new route reserves its name by itself.
 * @param routes as `GET /auth/sessions/:id`
 * @throws ConfigurationError with all such names
 */
export function refuseReservedNames(providers: Iterable<string>, routes: readonly string[]): void {
  const reserved = new Set(routes.flatMap((route) => /^\w+ \/auth\/([^/:*]+)/.exec(route)?.[1] ?? []))
  const faults = [...providers]
    .filter((name) => reserved.has(name))
    .map((name) => `${name} cannot be the name of a provider, since /auth/${name} is another call`)
  if (faults.length > 0) throw new ConfigurationError(faults)
}
