import { isIP } from 'node:net'
import { portOf, type Egress } from './egress.ts'
import { withoutBrackets } from './reserved-addresses.ts'

const longest = 2048

/**
 * Returns why the service must not call an address, as a sentence, or `undefined`. Registration thereby refuses what the
 * connector would refuse later. Names are resolved only on connecting, because their addresses may change until then.
 */
export function faultOfDestination(text: string, egress: Egress): string | undefined {
  if (text.length > longest) return `The address is longer than ${longest} characters.`
  // The parser of URLs would remove them.
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(text))
    return 'The address must not contain line breaks, tabs or other control characters.'
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The parser accepts `https:host` and `https:\\host` as well.
  if (!url || !/^\s*https?:\/\/[^/\\]/i.test(text)) return 'The address must be a whole http or https URL.'
  if (url.username !== '' || url.password !== '') {
    return 'The address must not contain credentials; send them in a header.'
  }
  if (url.hash !== '') return 'The address must not have a fragment: it would never be sent.'
  if (url.port === '0') return 'The address names port 0, which cannot be connected to.'
  if (egress.refusesPort(portOf(url.port, url.protocol)))
    return 'The address names a port that is not allowed; see EMIT_PORTS.'
  const unusable = faultOfHost(url.hostname)
  if (unusable !== undefined) return unusable
  if (egress.trustsHost(url.hostname)) return undefined
  if (url.protocol !== 'https:')
    return 'The address must be https; http is for ALLOW_PRIVATE_NETWORK=true and allowed hosts only.'
  const host = withoutBrackets(url.hostname)
  if (isIP(host) !== 0 ? egress.refuses(host, host) : /(^|\.)localhost\.?$/.test(host)) {
    return 'The address is private or reserved; only ALLOW_PRIVATE_NETWORK=true or an allow-list lets it be called.'
  }
  return undefined
}

/** Why a host cannot exist in DNS (RFC 1035, section 2.3.4). Underscores occur in practice. */
function faultOfHost(hostname: string): string | undefined {
  if (isIP(withoutBrackets(hostname)) !== 0) return undefined
  const name = hostname.replace(/\.$/, '')
  if (name.includes('*')) return 'The address names a host with `*`: register each host.'
  if (name.length > 253) return 'The address names a host of more than 253 characters.'
  for (const label of name.split('.')) {
    if (label === '')
      return 'The address names a host with an empty part: two dots follow each other, or one begins it.'
    if (label.length > 63) return 'The address names a host with a part of more than 63 characters.'
    if (!/^[a-z0-9_-]+$/.test(label)) return 'The address names a host with characters that no host name has.'
  }
  return undefined
}
