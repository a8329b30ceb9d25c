import { isLoopbackHost } from '../network/egress.ts'
import { type Reader, list } from './readers.ts'

export function secret(least: number): Reader<string> {
  return (value) => {
    if (Buffer.byteLength(value) < least) throw new Error(`expected ${least} bytes or more`)
    return value
  }
}

/** Comma-separated secrets, newest first. */
export function secrets(least: number): Reader<string[]> {
  return (value) => {
    const found = list(value)
    if (found.length === 0) throw new Error('expected a secret')
    return found.map(secret(least))
  }
}

export const identities: Reader<{ provider: string; providerId: string }[]> = (value) =>
  list(value).map((item) => {
    const colon = item.indexOf(':')
    if (colon < 1 || colon === item.length - 1)
      throw new Error('expected provider:providerId, comma-separated')
    return { provider: item.slice(0, colon).toLowerCase(), providerId: item.slice(colon + 1) }
  })

/**
 * The target of the audit log. A webhook over http is accepted for loopback only; syslog without TLS needs the explicit
 * `syslog+tcp`.
 */
export const auditExport: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const plain = url?.protocol === 'http:' && isLoopbackHost(url.hostname)
  const webhook = (url?.protocol === 'https:' || plain) && url?.username === '' && url.hash === ''
  const syslog = /^syslog\+(?:tls|tcp):\/\/[^/?#@]+$/.test(value) && url !== undefined && url.hostname !== ''
  if (!webhook && !syslog)
    throw new Error(
      'expected https://…, syslog+tls://host:port or syslog+tcp://host:port; http for loopback only',
    )
  return value
}

/** Secrets of Standard Webhooks, comma-separated: `whsec_` and the base64 of 24 to 64 bytes. */
export const signingSecrets: Reader<Buffer[]> = (value) => {
  const found = list(value).map((item) => {
    const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(item)?.[1] ?? ''
    const key = Buffer.from(base64, 'base64')
    // Node's decoder skips invalid characters: encoding the result again detects them.
    if (key.toString('base64') !== base64 || key.length < 24 || key.length > 64)
      throw new Error('expected whsec_ and the base64 of 24 to 64 bytes, comma-separated')
    return key
  })
  if (found.length === 0) throw new Error('expected a secret')
  return found
}
