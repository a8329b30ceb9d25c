import type { EmittingConfig, EventTypeDeclaration } from './emitting/config.ts'
import type { StandardSchema } from './json/standard-schema.ts'
import type { ForwardAuthConfig } from './forward-auth/config.ts'
import type { ListingConfig } from './listing/config.ts'
import type { LoginConfig } from './login/config.ts'
import type { OAuth2Config } from './oauth2/clients/client.ts'
import type { AnyTables, DeclaredHandler, ReceivedEvent, ReceivingConfig } from './receiving/config.ts'
import type { Scheme } from './receiving/schemes/scheme.ts'

/** What `postern.config.ts` exports by default. Everything is optional. */
export interface PosternConfig {
  login?: LoginConfig & OAuth2Config
  forwardAuth?: ForwardAuthConfig
  receiving?: ReceivingConfig
  emitting?: EmittingConfig
  listing?: ListingConfig
}

/** The types of events that the handler of a key gets. A handler for `issues` also gets `issues.opened`. */
type TypesOf<Key extends string> = Key extends `${infer Prefix}*`
  ? `${Prefix}${string}`
  : Key extends `${string}.${string}`
    ? Key
    : Key | `${Key}.${string}`

type PayloadOf<Source> = Source extends Scheme<infer Payload> ? Payload : unknown

/** By the schema of the key, or else by the source. */
type EventOf<Key extends string, Sources, Payloads> = Key extends keyof Payloads
  ? ReceivedEvent<Payloads[Key], TypesOf<Key>, keyof Sources & string>
  : {
      [Source in keyof Sources & string]: ReceivedEvent<PayloadOf<Sources[Source]>, TypesOf<Key>, Source>
    }[keyof Sources & string]

/** The configuration, with the types that follow from the declared sources, schemas and event types. */
interface TypedConfig<Sources, Payloads, Keys extends string, Emitted> extends Pick<
  PosternConfig,
  'login' | 'forwardAuth' | 'listing'
> {
  receiving?: Omit<ReceivingConfig, 'sources' | 'eventTypes' | 'handlers'> & {
    sources?: Sources
    eventTypes?: { readonly [Key in keyof Payloads]: { schema: StandardSchema<unknown, Payloads[Key]> } }
    handlers?: {
      readonly [Key in Keys]: DeclaredHandler<AnyTables, EventOf<Key, Sources, Payloads>, Emitted>
    }
  }
  emitting?: Omit<EmittingConfig, 'eventTypes'> & {
    eventTypes?: {
      readonly [Type in keyof Emitted]: Omit<EventTypeDeclaration, 'schema'> & {
        schema?: StandardSchema<Emitted[Type], unknown> | object
      }
    }
  }
}

/** Returns its argument: it is there for the types, which are inferred from the declarations. */
export function defineConfig<
  const Sources extends Readonly<Record<string, Scheme>> = Readonly<Record<string, Scheme>>,
  Payloads = unknown,
  Keys extends string = string,
  Emitted = unknown,
>(config: TypedConfig<Sources, Payloads, Keys, Emitted>): PosternConfig {
  // Handlers get what the schemas ensure.
  return config as unknown as PosternConfig
}
