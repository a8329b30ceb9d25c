import { verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { fromObject, headerOf, identify } from './body.ts'
import { certificates } from './fetched.ts'
import { createScheme } from './create-scheme.ts'
import { decodeDigest } from './digest.ts'
import {
  type Check,
  checkTime,
  type CommonOptions,
  defaultTolerance,
  refuse,
  type Scheme,
  type Secret,
  shownAt,
} from './scheme.ts'

export interface PaypalOptions extends CommonOptions {
  /** The webhook's ID at PayPal. Can be several, like other sources' `secret`. */
  webhookId: Secret
  /** Seconds by which the transmission time may differ from the current time, in either direction. Default 300. */
  tolerance?: number
  /** PEM of an authority that is trusted in addition to those of Node.js. */
  ca?: string
}

/** Certificates are fetched only from these URLs. */
const addressForm =
  /^https:\/\/api(?:-m)?(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/[\w-]{1,100}$/

/**
 * PayPal: `PAYPAL-TRANSMISSION-SIG`, RSA with SHA-256 over the transmission's id and time, the webhook's ID and the CRC-32 of the body. The
 * certificate is fetched from `PAYPAL-CERT-URL`, only at PayPal's hosts; its chain, name and dates are checked. The id is the event's
 * (`WH-…`), which retries repeat, and the type is `event_type`. Each transmission has its own time.
 * https://developer.paypal.com/api/rest/webhooks/rest/
 */
export function paypal(options: PaypalOptions): Scheme {
  const { webhookId, tolerance = defaultTolerance, ca } = options
  const certificateAt = certificates({
    name: /^messageverificationcerts(?:\.sandbox)?\.paypal\.com$/,
    more: ca,
  })
  return createScheme({
    name: 'paypal',
    options: { ...options, secret: webhookId },
    isPublic: true,
    signatureHeader: 'paypal-transmission-sig',
    caution:
      'gets signatures over a CRC-32 of the body: anyone who sees a request can sign other bodies with it until its time is too old',
    check: (webhookIds): Check => {
      return ({ headers, rawBody, now }) => {
        const [id, time, signature, url, algorithm] = [
          'paypal-transmission-id',
          'paypal-transmission-time',
          'paypal-transmission-sig',
          'paypal-cert-url',
          'paypal-auth-algo',
        ].map((name) => headerOf(headers, name))
        if (!id || !time || !signature || !url || !algorithm)
          return refuse('a header of paypal- is missing', 'signature-missing')
        const bytes = decodeDigest(signature, 'base64')
        if (!bytes || algorithm !== 'SHA256withRSA') return refuse('paypal-auth-algo is not SHA256withRSA')
        if (!addressForm.test(url)) return refuse('paypal-cert-url is not an address of PayPal')
        const signedAt = checkTime(time, now, tolerance, 'iso')
        if ('rejected' in signedAt) return signedAt
        const certificate = certificateAt(url, now)
        if (!('key' in certificate)) return certificate
        const checksum = crc32(rawBody)
        const webhook = webhookIds.find((one) =>
          verify('sha256', Buffer.from(`${id}|${time}|${one}|${checksum}`), certificate.key, bytes),
        )
        return webhook === undefined
          ? refuse('paypal-transmission-sig does not match')
          : shownAt(webhook, signedAt)
      }
    },
    read: fromObject((body) => identify(body['id'], body['event_type'])),
  })
}
