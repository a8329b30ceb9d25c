import { verify } from 'node:crypto'
import { type JsonObject, identify, json, readUnverifiedObject } from './body.ts'
import { certificates, Fetched } from './fetched.ts'
import { createScheme } from './create-scheme.ts'
import { decodeDigest } from './digest.ts'
import {
  answerEmpty,
  type Check,
  checkTime,
  type CommonOptions,
  refuse,
  type Rejected,
  type Scheme,
  type Secret,
  shownAt,
} from './scheme.ts'

export interface SnsOptions extends CommonOptions {
  /** The topic's ARN. Can be several, like other sources' `secret`. */
  topicArn: Secret
  /** Also accepts signature version 1 (SHA-1), which is the default of topics. */
  sha1?: boolean
  /** Seconds by which the message time may differ from the current time, in either direction. Default 7,200. */
  tolerance?: number
}

/** Seconds. SNS retries for up to an hour, with the original time. https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html */
const retryTolerance = 7_200

/** The fields that each type of message signs, in this order. */
const ofSubscription = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
const signedNames: Readonly<Record<string, readonly string[]>> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ofSubscription,
  UnsubscribeConfirmation: ofSubscription,
}

/**
 * Amazon SNS, for a topic. Each message has an RSA signature with SHA-256 (version 2); `sha1` also accepts version 1. The certificate is fetched
 * only from SNS in the topic's region. A `SubscriptionConfirmation` with a valid signature is confirmed at the same host, and not stored. The
 * type is `Notification` or `UnsubscribeConfirmation`, and the id is the `MessageId`. `MessageAttributes` are not signed.
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
 */
export function sns(options: SnsOptions): Scheme {
  const { topicArn, sha1, tolerance = retryTolerance } = options
  const certificateAt = certificates()
  const confirmed = new Fetched({ parse: readConfirmed, lifetime: Infinity })
  return createScheme({
    name: 'sns',
    options: { ...options, secret: topicArn },
    isPublic: true,
    mediaTypes: ['text/plain', json],
    caution: sha1
      ? 'accepts signatures with SHA-1: set `SignatureVersion` of the topic to 2 and remove `sha1`'
      : undefined,
    check: (arns): Check => {
      const topics = arns.map((arn) => ({ arn, host: hostOf(arn) }))
      return ({ rawBody, headers, now }) => {
        if (headers['x-amz-sns-rawdelivery'] === 'true')
          return refuse('raw message delivery signs nothing: turn it off', 'signature-missing')
        const body = readUnverifiedObject(rawBody)
        if ('rejected' in body) return body
        const message = body.object
        const text = signedText(message)
        if (typeof text !== 'string') return text
        const topic = topics.find(({ arn }) => arn === message['TopicArn'])
        if (!topic) return refuse('TopicArn is not that of the source')
        const { SigningCertURL: url, SignatureVersion: version } = message
        if (version !== '2' && !(sha1 && version === '1'))
          return refuse('SignatureVersion of the topic is not 2, which signs with SHA-256')
        if (!isAt(url, topic.host, /^\/SimpleNotificationService-[\w-]{1,100}\.pem$/))
          return refuse('SigningCertURL is not an address of SNS in the region of the topic')
        const time = checkTime(String(message['Timestamp']), now, tolerance, 'iso')
        if ('rejected' in time) return time
        const certificate = certificateAt(url, now)
        if (!('key' in certificate)) return certificate
        const signature = decodeDigest(String(message['Signature']), 'base64')
        const hash = version === '2' ? 'sha256' : 'sha1'
        if (!signature || !verify(hash, Buffer.from(text), certificate.key, signature))
          return refuse('Signature does not match')
        if (message['Type'] !== 'SubscriptionConfirmation') return shownAt(topic.arn, time)
        const { SubscribeURL: address } = message
        if (!isAt(address, topic.host, /^\/\?Action=ConfirmSubscription&[\w=&:%.-]+$/))
          return refuse('SubscribeURL is not an address of SNS in the region of the topic')
        const done = confirmed.at(address, now)
        return 'value' in done ? answerEmpty() : done
      }
    },
    read({ rawBody }) {
      const { MessageId: id, Type: type } = JSON.parse(rawBody.toString()) as JsonObject
      const event = identify(id, type)
      // SNS sends its JSON as text/plain.
      return 'id' in event ? { ...event, content: { bytes: rawBody, type: json } } : event
    },
  })
}

/** The SNS host in a topic's region. @throws TypeError */
function hostOf(arn: string): string {
  const [, china, region] =
    /^arn:aws(-cn)?(?:-[a-z-]+)?:sns:([a-z0-9-]{3,30}):\d{12}:[\w-]{1,256}$/.exec(arn) ?? []
  if (region === undefined) throw new TypeError(`sns: ${arn} is not the ARN of a topic`)
  return `https://sns.${region}.amazonaws.com${china ? '.cn' : ''}`
}

/** Whether a URL begins with `host` (scheme and host), and the rest matches `form`. */
function isAt(url: unknown, host: string, form: RegExp): url is string {
  return typeof url === 'string' && url.startsWith(host) && form.test(url.slice(host.length))
}

/** All values except the message must be single lines, so that no two messages have the same signed text. */
function signedText(message: JsonObject): string | Rejected {
  const { Type: type } = message
  const names = typeof type === 'string' && Object.hasOwn(signedNames, type) ? signedNames[type]! : undefined
  if (!names || typeof message['Signature'] !== 'string')
    return refuse('the body is not a signed message of SNS', 'signature-missing')
  let text = ''
  for (const name of names) {
    const value = message[name]
    if (name === 'Subject' && (value === undefined || value === null)) continue
    if (typeof value !== 'string' || (name !== 'Message' && value.includes('\n')))
      return refuse(`${name} is not a text of one line`)
    text += `${name}\n${value}\n`
  }
  return text
}

function readConfirmed(text: string): true {
  if (!text.includes('ConfirmSubscriptionResponse')) throw new Error('SNS did not confirm the subscription')
  return true
}
