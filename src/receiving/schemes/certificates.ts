import { type KeyObject, X509Certificate } from 'node:crypto'
import { getCACertificates } from 'node:tls'
import { refuse, type Rejected } from './scheme.ts'

/** A sender's certificate. Times in milliseconds since 1970. */
interface Certificate {
  readonly key: KeyObject
  /** When the certificate and its chain are valid. */
  readonly from: number
  readonly until: number
}

/** Maximum certificates in a chain, and minimum bits of an RSA key. */
const longestChain = 5
const leastModulus = 2048

/**
 * Reads a file of PEM certificates, the signer's first.
 * @param trusted undefined if the URL that it was fetched from is proof enough; otherwise its chain must end at one of Node.js's authorities
 * or one of `more` (PEM), and the signer's common name must match `name`
 * @throws Error if the key is not RSA with at least 2,048 bits, or no trusted authority issued the certificate
 */
export function readCertificate(
  text: string,
  trusted?: { name: RegExp; more?: string | undefined },
): Certificate {
  const [signer, ...others] = certificatesIn(text).slice(0, longestChain)
  if (!signer) throw new Error('there is no certificate')
  const { publicKey: key } = signer
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < leastModulus)
    throw new Error('the key of the certificate is not RSA with at least 2048 bits')
  if (trusted && !trusted.name.test(/^CN=(.*)$/m.exec(signer.subject)?.[1] ?? ''))
    throw new Error('the certificate is not that of the sender')
  const chain = trusted ? chainOf(signer, others, trusted.more) : [signer]
  return {
    key,
    from: Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom))),
    until: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
  }
}

/** A rejection if the certificate is not valid at `now`. */
export function faultOfCertificate({ from, until }: Certificate, now: number): Rejected | undefined {
  return from <= now && now <= until ? undefined : refuse('the certificate is not valid at this time')
}

function certificatesIn(text: string): X509Certificate[] {
  const [, ...pem] = text.split('-----BEGIN CERTIFICATE-----')
  return pem.map((one) => new X509Certificate(`-----BEGIN CERTIFICATE-----${one}`))
}

/** The certificates from the signer's to a trusted one. @throws Error */
function chainOf(signer: X509Certificate, others: readonly X509Certificate[], more = ''): X509Certificate[] {
  const roots = [...getCACertificates('default'), more].flatMap(certificatesIn)
  const chain = [signer]
  while (chain.length <= longestChain) {
    const last = chain.at(-1)!
    const isIssuer = (one: X509Certificate): boolean =>
      one.ca && last.checkIssued(one) && last.verify(one.publicKey)
    const root = roots.find(isIssuer)
    if (root) return [...chain, root]
    const next = others.find((one) => !chain.includes(one) && isIssuer(one))
    if (!next) break
    chain.push(next)
  }
  throw new Error('no trusted authority has issued the certificate')
}
