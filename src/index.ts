export { defineConfig, type PosternConfig } from './define-config.ts'
export type { LoginConfig } from './login/config.ts'
export type { Hook, HookContext } from './login/hook-context.ts'
export type {
  AnyTables,
  EmittedEvent,
  Handler,
  HandlerContext,
  HandlerOptions,
  ReceivedEvent,
  ReceivingConfig,
} from './receiving/config.ts'
export { github } from './receiving/schemes/github.ts'
export { hmac, type HmacOptions } from './receiving/schemes/hmac.ts'
export type { Scheme, SourceOptions } from './receiving/schemes/scheme.ts'
export { standardWebhooks, type StandardWebhooksOptions } from './receiving/schemes/standard-webhooks.ts'
export { stripe, type StripeOptions } from './receiving/schemes/stripe.ts'
