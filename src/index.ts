export { defineConfig, type PosternConfig } from './define-config.ts'
export {
  list,
  type Caller,
  type FieldOptions,
  type FilterOptions,
  type ExpandOptions,
  type List,
  type ListingConfig,
  type ListOptions,
  type RowAccess,
} from './listing/config.ts'
export type { StandardSchema } from './json/standard-schema.ts'
export { createHandler, postern, type MountOptions, type RequestHandler } from './mounting/index.ts'
export type {
  DestinationContext,
  DestinationDeclaration,
  DestinationEvent,
  DestinationField,
} from './emitting/config.ts'
export type { ForwardAuthConfig } from './forward-auth/config.ts'
export type { LoginConfig } from './login/config.ts'
export type { AdmissionContext, AdmissionHook, Hook, HookContext } from './login/hooks.ts'
export type { ClaimsContext, ClaimsHook } from './oauth2/token/own-claims.ts'
export type {
  AnyTables,
  EmittedEvent,
  Handler,
  HandlerContext,
  HandlerOptions,
  ReceivedEvent,
  ReceivingConfig,
} from './receiving/config.ts'
export type { Spool, SpoolEntry, SpoolSize } from './receiving/spool/spool.ts'
export { exactPayload } from './receiving/worker/received-event.ts'
export type { ForwardTarget } from './receiving/forward.ts'
export * from './receiving/schemes/index.ts'
