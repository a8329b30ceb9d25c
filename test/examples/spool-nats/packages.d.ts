// What examples/spool-nats uses of its packages, so that the types can be checked where those are not installed.
declare module '@nats-io/transport-node' {
  export interface NodeConnectionOptions {
    servers?: string | string[]
    user?: string
    pass?: string
    token?: string
    tls?: { caFile?: string; certFile?: string; keyFile?: string } | null
    name?: string
    timeout?: number
    maxReconnectAttempts?: number
    reconnectTimeWait?: number
  }
  export interface MsgHdrs {
    get(name: string): string
    keys(): string[]
    set(name: string, value: string): void
  }
  export interface NatsConnection {
    readonly info?: { readonly max_payload: number }
    close(): Promise<void>
    closed(): Promise<void | Error>
  }
  export function connect(options: NodeConnectionOptions): Promise<NatsConnection>
  export function headers(): MsgHdrs
}

declare module '@nats-io/jetstream' {
  import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node'
  export enum AckPolicy {
    Explicit = 'explicit',
  }
  export enum DiscardPolicy {
    New = 'new',
  }
  export enum RetentionPolicy {
    Workqueue = 'workqueue',
  }
  export enum StorageType {
    File = 'file',
  }
  export interface JsMsg {
    readonly seq: number
    readonly data: Uint8Array
    ack(): void
    nak(): void
    ackAck(options: { timeout: number }): Promise<boolean>
  }
  export interface Consumer {
    fetch(options: { max_messages: number; expires: number }): Promise<AsyncIterable<JsMsg>>
  }
  export interface JetStreamClient {
    publish(
      subject: string,
      data: Uint8Array,
      options?: { msgID?: string; timeout?: number; headers?: MsgHdrs },
    ): Promise<{ stream: string; seq: number; duplicate: boolean }>
    consumers: { get(stream: string, name: string): Promise<Consumer> }
  }
  export interface StreamConfig {
    name: string
    subjects: string[]
    retention: RetentionPolicy
    storage: StorageType
    discard: DiscardPolicy
    num_replicas: number
    max_bytes: number
    max_age: number
    max_msgs: number
    max_msgs_per_subject: number
  }
  export interface StreamInfo {
    config: StreamConfig
    state: {
      messages: number
      bytes: number
      first_seq: number
      last_seq: number
      subjects?: Record<string, number>
    }
  }
  export interface StoredMsg {
    readonly subject: string
    readonly data: Uint8Array
    readonly header: MsgHdrs
    readonly time: Date
  }
  export interface JetStreamManager {
    jetstream(): JetStreamClient
    streams: {
      info(name: string, options?: { subjects_filter: string }): Promise<StreamInfo>
      add(config: Partial<StreamConfig> & { name: string }): Promise<StreamInfo>
      update(name: string, config: Partial<StreamConfig>): Promise<StreamInfo>
      getMessage(
        stream: string,
        query: { seq: number; next_by_subj?: string } | { last_by_subj: string },
      ): Promise<StoredMsg | null>
    }
    consumers: {
      add(
        stream: string,
        config: {
          durable_name: string
          filter_subject: string
          ack_policy: AckPolicy
          ack_wait: number
          max_ack_pending: number
          max_deliver: number
        },
      ): Promise<unknown>
    }
  }
  export function jetstream(connection: NatsConnection): JetStreamClient
  export function jetstreamManager(
    connection: NatsConnection,
    options?: { timeout: number },
  ): Promise<JetStreamManager>
}
