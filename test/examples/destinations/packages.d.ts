// What examples/destination-rabbitmq uses of its package, so that the types can be checked where it is not installed.
declare module 'amqplib' {
  interface Properties {
    messageId?: string
    correlationId?: string
    headers?: Record<string, string>
  }
  interface Message {
    readonly content: Buffer
    readonly properties: Properties
  }
  export interface ConfirmChannel {
    on(event: 'return', listener: (message: Message) => void): this
    on(event: 'error' | 'close', listener: () => void): this
    publish(
      exchange: string,
      routingKey: string,
      content: Buffer,
      options: Properties & { mandatory: boolean; persistent: boolean; type: string; contentType: string },
      confirmed: (error: unknown) => void,
    ): boolean
    assertExchange(name: string, type: string): Promise<unknown>
    assertQueue(name: string): Promise<unknown>
    bindQueue(queue: string, exchange: string, pattern: string): Promise<unknown>
    get(queue: string, options: { noAck: boolean }): Promise<Message | false>
  }
  export interface ChannelModel {
    on(event: 'error' | 'close', listener: () => void): this
    createConfirmChannel(): Promise<ConfirmChannel>
    close(): Promise<void>
  }
  export function connect(
    url: string,
    options?: { timeout: number; clientProperties: { connection_name: string } },
  ): Promise<ChannelModel>
}
