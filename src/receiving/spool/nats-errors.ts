/** A server or a stream that cannot be used as it is configured. */
export class NatsMisconfigured extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'NatsMisconfigured'
  }
}

/** Whether the stream or consumer does not exist, or no stream can. The driver does not export the classes of these errors. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  /^(StreamNotFoundError|ConsumerNotFoundError|JetStreamNotEnabled)$/.test(error.name)
