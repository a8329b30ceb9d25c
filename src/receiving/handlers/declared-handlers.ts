import { isTypeOrPattern } from '../../events/type-pattern.ts'
import { ConfigurationError } from '../../config/environment.ts'
import { describeIssues, isStandardSchema, type StandardSchema } from '../../json/standard-schema.ts'
import type {
  DeclaredHandler,
  Handler,
  HandlerOptions,
  ProviderToken,
  ReceivedEvent,
  ReceivingConfig,
} from '../config.ts'

/** Provides users' access tokens at identity providers. */
export interface ProviderTokenSource {
  storesTokensOf(provider: string): boolean
  accessToken: ProviderToken
}

export interface RegisteredHandler {
  /** By which people, pauses and counts name it: the key, or `forwardTo:` and the source. */
  readonly id: string
  /** Its type or pattern. */
  readonly key: string
  readonly handle: Handler
  /** Milliseconds. */
  readonly timeout: number
  /** The number of events at once, if declared. */
  readonly concurrency: number | undefined
  readonly orderBy: OrderBy | undefined
}

export type OrderBy = (event: ReceivedEvent) => string | number | undefined

const mostAtOnce = 1_000
const timeouts = { least: 0.1, most: 3_600 }

/**
 * The handlers of the configuration module. A handler gets the access tokens of those providers that it declares.
 * @param timeout milliseconds for handlers that declare none
 * @param eventTypes schemas of payloads, by the keys of the handlers
 * @throws ConfigurationError with all invalid declarations
 */
export function readHandlers(
  handlers: Readonly<Record<string, DeclaredHandler>> = {},
  timeout: number,
  tokens?: ProviderTokenSource,
  eventTypes: NonNullable<ReceivingConfig['eventTypes']> = {},
): RegisteredHandler[] {
  const faults: string[] = []
  const read = Object.entries(handlers).map(([key, declared]): RegisteredHandler => {
    const options: HandlerOptions =
      typeof declared === 'object' && declared !== null ? declared : { handle: declared }
    const { concurrency, providerTokens } = options
    const schema = eventTypes[key]?.schema
    const handle = schema ? withSchema(key, schema, options.handle) : options.handle
    const place = `receiving.handlers[${JSON.stringify(key)}]`
    if (!isTypeOrPattern(key))
      faults.push(
        `receiving.handlers: ${JSON.stringify(key)} is neither a type nor a pattern such as order.*`,
      )
    for (const fault of validate(options)) faults.push(`${place} ${fault}`)
    for (const provider of providerTokens ?? []) {
      if (!tokens?.storesTokensOf(provider))
        faults.push(`${place} needs tokens of ${provider}: set login.providers.${provider}.keepTokens`)
    }
    return {
      id: key,
      key,
      handle: providerTokens && tokens ? withTokens(handle, providerTokens, tokens) : handle,
      timeout: options.timeout === undefined ? timeout : options.timeout * 1000,
      concurrency,
      orderBy: options.orderBy,
    }
  })
  for (const [key, { schema }] of Object.entries(eventTypes)) {
    const place = `receiving.eventTypes[${JSON.stringify(key)}]`
    if (!isStandardSchema(schema)) faults.push(`${place} has no schema that follows Standard Schema`)
    if (!Object.hasOwn(handlers, key)) faults.push(`${place} has no handler of the same key`)
  }
  if (faults.length > 0) throw new ConfigurationError(faults)
  return read
}

/** The longest time limit of the declared handlers, in milliseconds. @param timeout for those that declare none */
export function longestTimeout(
  handlers: Readonly<Record<string, DeclaredHandler>> = {},
  timeout: number,
): number {
  const declared = Object.values(handlers).map((handler) =>
    typeof handler === 'object' && handler.timeout !== undefined ? handler.timeout * 1000 : timeout,
  )
  return Math.max(timeout, ...declared)
}

function* validate({ handle, concurrency, timeout, orderBy }: HandlerOptions): Generator<string> {
  if (typeof handle !== 'function') yield 'is not a function, and has no function `handle`'
  if (
    concurrency !== undefined &&
    !(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= mostAtOnce)
  )
    yield `has a concurrency that is not a whole number from 1 to ${mostAtOnce}`
  if (timeout !== undefined && !(timeout >= timeouts.least && timeout <= timeouts.most))
    yield `has a timeout that is not a number of seconds from ${timeouts.least} to ${timeouts.most}`
  if (orderBy !== undefined && typeof orderBy !== 'function') yield 'has an orderBy that is not a function'
}

function withTokens(handle: Handler, declared: readonly string[], tokens: ProviderTokenSource): Handler {
  const providerToken: ProviderToken = async (provider, owner) => {
    if (!declared.includes(provider))
      throw new Error(`this handler does not declare that it needs tokens of ${provider}`)
    return tokens.accessToken(provider, owner)
  }
  return (event, context) => handle(event, { ...context, providerToken })
}

/** The `providerToken` of handlers that declare no providers. */
export const noProviderToken: ProviderToken = async (provider) => {
  throw new Error(
    `declare the need first: { providerTokens: [${JSON.stringify(provider)}], handle: async (event, context) => … }`,
  )
}

/** Faults that the error of an event lists. */
const mostTold = 5

/** A payload does not match its declared schema. Another attempt would get the same payload, so the event fails at once. */
export class InvalidPayload extends Error {
  constructor(key: string, faults: readonly string[]) {
    super(
      `the payload is not what receiving.eventTypes[${JSON.stringify(key)}] declares: ${faults.slice(0, mostTold).join('; ')}`,
    )
    this.name = 'InvalidPayload'
    // Its origin tells nothing.
    this.stack = `${this.name}: ${this.message}`
  }
}

/** Gives the handler what the schema makes of the payload. */
function withSchema(key: string, schema: StandardSchema, handle: Handler): Handler {
  return async (event, context) => {
    const result = await schema['~standard'].validate(event.payload)
    if (result.issues) throw new InvalidPayload(key, describeIssues(result.issues))
    await handle({ ...event, payload: result.value }, context)
  }
}
