import { createHash } from 'node:crypto'
import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs'
import type { DestinationDeclaration } from 'postern'

/** No other host: requests to it are signed with the service's credentials. */
const queueUrl =
  /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\.(?:com|com\.cn|eu)\/\d{12}\/[\w-]{1,80}(?:\.fifo)?$/
/** SQS replaces characters that XML 1.0 lacks, so the signature of the body would no longer match. */
const notInXml = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
/** What SQS accepts as an ID of a group or for deduplication. */
const acceptedId = /^[\w!-/:-@[-`{-~]{1,128}$/
/** Errors of the message itself. All others, such as a missing queue, may be fixed before the next attempt. */
const permanentErrors = new Set(['InvalidMessageContents', 'InvalidParameterValue', 'MissingParameter'])

/** Delivers to Amazon SQS. `options` are those of the client. Without credentials it uses its default chain. */
export function sqs(options: SQSClientConfig = {}): DestinationDeclaration {
  const clients = new Map<string, SQSClient>()
  function clientOf(region: string): SQSClient {
    const client = clients.get(region) ?? new SQSClient({ ...options, region, maxAttempts: 1 })
    clients.set(region, client)
    return client
  }
  return {
    title: 'Amazon SQS',
    fields: {
      queueUrl: { label: 'Queue URL', required: true },
      groupBy: { label: 'Message group', description: 'Field of the event, such as data.order.id' },
    },
    validate: ({ queueUrl: url, groupBy }) => {
      if (typeof url !== 'string' || !queueUrl.test(url))
        throw new Error('queueUrl must be like https://sqs.eu-west-1.amazonaws.com/123456789012/orders')
      if (groupBy !== undefined && typeof groupBy !== 'string') throw new Error('groupBy must be a string')
    },
    async deliver({ id, type, payload, headers }, { signal, settings }) {
      const url = settings['queueUrl'] as string
      const body = payload.toString()
      if (notInXml.test(body)) throw permanent('the body has characters that SQS does not accept')
      const isFifo = url.endsWith('.fifo')
      const group = valueAt(body, settings['groupBy']) ?? (isFifo ? id : undefined)
      const attributes = Object.entries({ 'event-type': type, ...headers }).filter(
        ([, value]) => value !== '',
      )
      const command = new SendMessageCommand({
        QueueUrl: url,
        MessageBody: body,
        MessageAttributes: Object.fromEntries(
          attributes.map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
        ),
        ...(group !== undefined && { MessageGroupId: toId(group) }),
        ...(isFifo && { MessageDeduplicationId: toId(id) }),
      })
      try {
        const { MessageId } = await clientOf(queueUrl.exec(url)![1]!).send(command, { abortSignal: signal })
        return { messageId: MessageId }
      } catch (error) {
        const { name, message } = error as Error
        throw permanentErrors.has(name) ? permanent(`${name}: ${message}`) : error
      }
    },
    close: () => clients.forEach((client) => client.destroy()),
  }
}

const permanent = (message: string): Error => Object.assign(new Error(message), { permanent: true })

function toId(text: string): string {
  return acceptedId.test(text) ? text : createHash('sha256').update(text).digest('hex')
}

/** The string or number at a path of a JSON body. */
function valueAt(body: string, path: unknown): string | undefined {
  if (typeof path !== 'string') return undefined
  let value: unknown = JSON.parse(body)
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
