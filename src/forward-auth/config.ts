/** A condition on the signed-in person. Every field that is given must hold; of its values, one is enough. */
export interface PeopleCondition {
  readonly roles?: readonly ('user' | 'admin')[]
  /** Domains of the e-mail address, which counts only if the provider verified it. Subdomains are not included. */
  readonly emailDomains?: readonly string[]
  /** `provider:id`, as in ADMIN_IDENTITIES. */
  readonly identities?: readonly string[]
  /** Providers of the sign-in. With `groups`: only the groups of these providers count. */
  readonly providers?: readonly string[]
  /** Groups that the provider of the sign-in named. */
  readonly groups?: readonly string[]
}

/**
 * Who may use a path. `everyone`: also people who are not signed in. `signed-in`: every user. Otherwise a condition, or several of
 * which one must hold.
 */
export type Allowed = 'everyone' | 'signed-in' | PeopleCondition | readonly PeopleCondition[]

/** An application behind the proxy. */
export interface ForwardedHostConfig {
  readonly allow: Allowed
  /**
   * Exceptions: `/health` is one path, `/admin/*` a path and everything below it. The longest pattern that matches counts, instead
   * of `allow`.
   */
  readonly paths?: Readonly<Record<string, Allowed>>
  /** Whether the application gets a signed token of the person in `Remote-Token`. Default false. */
  readonly token?: boolean
  /** Serves the metadata by which the clients of an API find this service (RFC 9728). */
  readonly resource?: ForwardedResourceConfig
}

/** An application that is an API, such as an MCP server: it verifies access tokens itself. */
export interface ForwardedResourceConfig {
  /** Its path at the host. With the host, it is the audience of its tokens. Everybody must be allowed to use it. Default `/`. */
  readonly path?: string
  /** The scopes that it supports. */
  readonly scopes?: readonly string[]
  /** Its display name. */
  readonly name?: string
}

/** The `forwardAuth` part of the configuration module. */
export interface ForwardAuthConfig {
  /** By host, with the port if it is not the default one. Requests for other hosts are refused. */
  readonly hosts?: Readonly<Record<string, ForwardedHostConfig>>
}
