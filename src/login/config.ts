/** An app that signs its users in by PKCE: a single-page or mobile app, without a secret. */
export interface ClientConfig {
  id: string
  /** Compared as whole strings (RFC 9700, section 2.1). */
  redirectUris: readonly string[]
}

/** The `login` part of the configuration module. */
export interface LoginConfig {
  clients?: readonly ClientConfig[]
}
