// What the examples of destinations and their tests use of the clients, so that the types can be checked where those are not installed.
declare module '@aws-sdk/client-sqs' {
  export interface SQSClientConfig {
    region?: string
    endpoint?: string
    maxAttempts?: number
    credentials?: { accessKeyId: string; secretAccessKey: string }
  }
  export interface Received {
    Body?: string
    ReceiptHandle?: string
    Attributes?: Record<string, string>
    MessageAttributes?: Record<string, { StringValue?: string }>
  }
  export class SendMessageCommand {
    readonly answer: { MessageId?: string }
    constructor(input: {
      QueueUrl: string
      MessageBody: string
      MessageAttributes: Record<string, { DataType: string; StringValue: string }>
      MessageGroupId?: string
      MessageDeduplicationId?: string
    })
  }
  export class CreateQueueCommand {
    readonly answer: { QueueUrl?: string }
    constructor(input: { QueueName: string; Attributes?: Record<string, string> })
  }
  export class ReceiveMessageCommand {
    readonly answer: { Messages?: Received[] }
    constructor(input: {
      QueueUrl: string
      MaxNumberOfMessages: number
      MessageAttributeNames: string[]
      MessageSystemAttributeNames: string[]
    })
  }
  export class SQSClient {
    constructor(options: SQSClientConfig)
    send<Answer>(
      command: { readonly answer: Answer },
      options?: { abortSignal: AbortSignal },
    ): Promise<Answer>
    destroy(): void
  }
}

declare module 'kafkajs' {
  export interface KafkaConfig {
    brokers: string[]
    clientId?: string
    ssl?: boolean
    sasl?: { mechanism: string; username: string; password: string }
    connectionTimeout?: number
    requestTimeout?: number
    retry?: { retries: number }
    logLevel?: number
  }
  export interface Producer {
    connect(): Promise<void>
    disconnect(): Promise<void>
    send(batch: {
      topic: string
      acks: number
      timeout: number
      messages: { key: string; value: Buffer; headers: Record<string, string> }[]
    }): Promise<{ partition: number; baseOffset?: string }[]>
  }
  export interface KafkaMessage {
    key: Buffer
    value: Buffer
    headers: Record<string, Buffer>
  }
  export class Kafka {
    constructor(options: KafkaConfig)
    producer(options: { allowAutoTopicCreation: boolean }): Producer
    admin(): {
      connect(): Promise<void>
      disconnect(): Promise<void>
      createTopics(options: {
        topics: { topic: string; numPartitions: number; replicationFactor: number }[]
      }): Promise<boolean>
    }
    consumer(options: { groupId: string }): {
      connect(): Promise<void>
      disconnect(): Promise<void>
      subscribe(options: { topic: string; fromBeginning: boolean }): Promise<void>
      run(options: {
        eachMessage(event: { partition: number; message: KafkaMessage }): Promise<void>
      }): Promise<void>
    }
  }
}

declare module '@google-cloud/pubsub' {
  export interface ClientConfig {
    projectId?: string
    apiEndpoint?: string
  }
  export interface Message {
    readonly data: Buffer
    readonly attributes: Record<string, string>
    readonly orderingKey: string
    ack(): void
  }
  export interface Subscription {
    on(event: 'message', listener: (message: Message) => void): void
    on(event: 'error', listener: (error: Error) => void): void
    close(): Promise<void>
  }
  export interface Topic {
    publishMessage(message: {
      data: Buffer
      attributes: Record<string, string>
      orderingKey?: string
    }): Promise<string>
    createSubscription(name: string, options?: { enableMessageOrdering: boolean }): Promise<unknown>
  }
  export class PubSub {
    constructor(options: ClientConfig)
    topic(
      name: string,
      options?: {
        messageOrdering: boolean
        batching: { maxMessages: number }
        gaxOpts: { timeout: number; retry: { retryCodes: number[] } }
      },
    ): Topic
    createTopic(name: string): Promise<unknown>
    subscription(name: string): Subscription
    close(): Promise<void>
  }
}
