import {
  constants,
  createPublicKey,
  type KeyObject,
  verify,
  type webcrypto,
  X509Certificate,
} from 'node:crypto'
import { createScheme } from './create-scheme.ts'
import { decodeDigest, ed25519Key } from './digest.ts'
import { Fetched } from './fetched.ts'
import { type Signed, signedCheck } from './hmac-check.ts'
import { placedReader, type PlacedOptions } from './placed.ts'
import { type CommonOptions, type Scheme, type Secret } from './scheme.ts'

/** How a signature is computed; of ECDSA, DER (as OpenSSL) or the two numbers in a row (IEEE P1363). */
const algorithms = {
  ed25519: { hash: null, type: 'ed25519', more: {} },
  'rsa-sha256': { hash: 'sha256', type: 'rsa', more: {} },
  'rsa-sha512': { hash: 'sha512', type: 'rsa', more: {} },
  'rsa-pss-sha256': {
    hash: 'sha256',
    type: 'rsa',
    more: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
  'ecdsa-sha256': { hash: 'sha256', type: 'ec', more: {} },
  'ecdsa-sha256-p1363': { hash: 'sha256', type: 'ec', more: { dsaEncoding: 'ieee-p1363' } },
} as const

export type SignatureAlgorithm = keyof typeof algorithms

export interface PublicKeyOptions extends CommonOptions, PlacedOptions, Omit<Signed, 'template' | 'header'> {
  algorithm: SignatureAlgorithm
  /** The sender's public key: PEM of a key or certificate, base64 of DER, a JWK, or of ed25519 the 32 bytes in hex or base64. */
  key?: Secret
  /** Instead of `key`: where the sender publishes it, as PEM or as a JWK set. It is fetched when it is needed, and cached for an hour. */
  url?: string
  /** The header of the signature, in upper or lower case. Default encoding: base64. */
  header: string
  /** The signed text, as of `hmac()`, where `{url}` is the public address of the source. Default `{body}`. */
  signed?: string
}

/** Milliseconds. */
const lifetime = 3_600_000

/**
 * Any sender that signs with a private key and sends the signature in a header; the options describe the differences as those of
 * `hmac()` do. The id and the type are read as by `hmac()`.
 * @throws TypeError if the options contradict each other, or the key is of another algorithm.
 */
export function publicKey(options: PublicKeyOptions): Scheme {
  const { algorithm, key, url, signed = '{body}', header, mediaTypes } = options
  if ((key === undefined) === (url === undefined))
    throw new TypeError('publicKey: declare either `key` or `url`')
  if (!signed.includes('{body}')) throw new TypeError('publicKey: `signed` must contain {body}')
  const isTimed = options.timestampHeader !== undefined || options.pairs?.timestamp !== undefined
  if (isTimed !== signed.includes('{timestamp}'))
    throw new TypeError('publicKey: a time needs {timestamp} in `signed`, and {timestamp} needs a time')
  const published = new Fetched({
    request: (address) => ({ url: address }),
    parse: (text) => readKeys(text).filter((one) => isOf(algorithm, one)),
    lifetime,
  })
  const { tolerance, pairs, prefix, timestampUnit, encoding = 'base64' } = options
  return createScheme({
    name: 'public-key',
    options: { ...options, secret: key ?? (url === undefined ? undefined : [url]) },
    isPublic: true,
    mediaTypes,
    signatureHeader: header.toLowerCase(),
    signs: `signs ${signed === '{body}' ? 'the raw body' : `\`${signed}\``} (${algorithm}) and sends the signature in the header \`${header.toLowerCase()}\``,
    check: signedCheck(
      {
        header: header.toLowerCase(),
        encoding,
        tolerance,
        pairs,
        prefix,
        timestampUnit,
        timestampHeader: options.timestampHeader?.toLowerCase(),
        template: signed,
      },
      (secrets) => {
        const keys = url === undefined ? secrets.map((secret) => readKey(algorithm, secret)) : undefined
        return (parts, signatures, { now }) => {
          const message = Buffer.concat(parts.map((part) => Buffer.from(part)))
          const isSigned = (one: KeyObject): boolean =>
            signatures.some((signature) => verifies(algorithm, one, message, signature))
          if (keys) return keys.findIndex(isSigned)
          const found = published.at(secrets[0]!, now)
          if (!('value' in found)) return found
          if (found.value.some(isSigned)) return 0
          return published.again(secrets[0]!, now) ?? -1
        }
      },
    ),
    read: placedReader(options),
  })
}

/** Whether the key's private half made the signature over the message. */
export function verifies(
  algorithm: SignatureAlgorithm,
  key: KeyObject,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const { hash, more } = algorithms[algorithm]
  return isOf(algorithm, key) && verify(hash, message, { key, ...more }, signature)
}

/** RSA keys of fewer bits are not accepted. */
const leastModulus = 2048

function isOf(algorithm: SignatureAlgorithm, key: KeyObject): boolean {
  return (
    key.asymmetricKeyType === algorithms[algorithm].type &&
    (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= leastModulus)
  )
}

/** @throws TypeError */
function readKey(algorithm: SignatureAlgorithm, text: string): KeyObject {
  let key: KeyObject | undefined
  try {
    const raw =
      algorithm === 'ed25519' ? (decodeDigest(text, 'hex') ?? decodeDigest(text, 'base64')) : undefined
    key = raw?.length === 32 ? ed25519Key(raw) : readKeys(text)[0]
  } catch (cause) {
    throw new TypeError('publicKey: `key` is no public key in PEM, base64 of DER, or JWK', { cause })
  }
  if (!key || !isOf(algorithm, key)) throw new TypeError(`publicKey: \`key\` is no key for ${algorithm}`)
  return key
}

/** Reads PEM (keys or certificates), a JWK, a JWK set, or base64 of DER. @throws Error for anything else */
export function readKeys(text: string): KeyObject[] {
  const pem = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g)
  if (pem)
    return pem.map((one) =>
      one.includes('CERTIFICATE') ? new X509Certificate(one).publicKey : createPublicKey(one),
    )
  if (text.trimStart().startsWith('{')) {
    const read = JSON.parse(text) as { keys?: webcrypto.JsonWebKey[] } & webcrypto.JsonWebKey
    return (read.keys ?? [read]).map((key) => createPublicKey({ key, format: 'jwk' }))
  }
  return [createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })]
}
