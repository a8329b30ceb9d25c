import type { Configuration } from '../config/environment.ts'
import { ConfigurationError } from '../config/environment.ts'
import { Keyring } from '../crypto/keyring.ts'
import type { PosternConfig } from '../define-config.ts'
import { faultOfTarget, keysOf, writeKey, type ForwardTo } from '../receiving/forward-target.ts'
import { readSources } from '../receiving/sources.ts'

export interface Forwarding {
  config: PosternConfig
  /** By which the receiver verifies the events of all sources. */
  secret: string
}

/**
 * The configuration with all sources forwarded to one address, instead of their handlers, for handlers in another language.
 * @throws ConfigurationError for an address that cannot be used, and in production
 */
export function withForwarding(
  config: PosternConfig = {},
  configuration: Configuration,
  url: string,
): Forwarding {
  const { masterSecrets, production } = configuration
  if (production || !masterSecrets)
    throw new ConfigurationError(['--forward is for development: in production set forwardTo of each source'])
  const secret = writeKey(keysOf(url, 'dev', new Keyring(masterSecrets))[0])
  const forwardTo: ForwardTo = { url, secret }
  const fault = faultOfTarget(forwardTo)
  if (fault !== undefined) throw new ConfigurationError([`--forward ${fault}`])
  const given = readSources(config.receiving?.sources, configuration)
  const sources = Object.fromEntries(Array.from(given, ([name, scheme]) => [name, { ...scheme, forwardTo }]))
  return { config: { ...config, receiving: { ...config.receiving, sources } }, secret }
}
