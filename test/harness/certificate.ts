import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

const der = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents)
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const sequence = (...contents: Uint8Array[]): Buffer => der(0x30, ...contents)
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes))
const time = (at: Date): Buffer => der(0x18, Buffer.from(at.toISOString().replaceAll(/[-:T]|\.\d+/g, '')))

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const name = (text: string): Buffer =>
  sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(text)))))

/** A self-signed certificate of one or several hosts with its key, as PEM (RFC 5280), for servers that a test starts. */
export function selfSigned(
  hosts: string | readonly string[],
  validity: { from?: Date; to?: Date } = {},
): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const day = 86_400_000
  const { from = new Date(Date.now() - day), to = new Date(Date.now() + day) } = validity
  const alternatives = [hosts].flat().map((each) => der(0x82, Buffer.from(each)))
  const host = [hosts].flat()[0]!
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name(host),
    sequence(time(from), time(to)),
    name(host),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(...alternatives))))),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const certificate = sequence(
    toBeSigned,
    ecdsaWithSha256,
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  )
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: pemOf(certificate) }
}

function pemOf(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

export interface Issued {
  name: string
  key: KeyObject
  cert: string
}

const rsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b), der(0x05))

/**
 * A certificate with an RSA key, issued by another one or by itself.
 * @param more.certified the public key that it certifies, instead of that of the returned key
 */
export function issued(
  subject: string,
  more: {
    by?: Issued
    isAuthority?: boolean
    from?: Date
    to?: Date
    bits?: number
    certified?: KeyObject
  } = {},
): Issued {
  const day = 86_400_000
  const { by, isAuthority = false, bits = 2048 } = more
  const { from = new Date(Date.now() - day), to = new Date(Date.now() + day) } = more
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const { certified = publicKey } = more
  const constraints = sequence(...(isAuthority ? [der(0x01, Buffer.from([255]))] : []))
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    rsaWithSha256,
    name(by?.name ?? subject),
    sequence(time(from), time(to)),
    name(subject),
    certified.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid(0x55, 0x1d, 0x13), der(0x04, constraints)))),
  )
  const signature = sign('sha256', toBeSigned, by?.key ?? privateKey)
  const cert = pemOf(
    sequence(toBeSigned, rsaWithSha256, der(0x03, Buffer.concat([Buffer.from([0]), signature]))),
  )
  return { name: subject, key: privateKey, cert }
}

/** Lets this process trust a certificate until the end of the block. */
export function trusted(certificate: string): Disposable {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate])
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) }
}
