import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyInstance,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Access } from './access/principal.ts'

/** The Fastify application on which every module declares its routes. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** A route's options: its access, its entry in the API reference, its schemas, and other settings. */
export const route = <S extends FastifySchema>(
  access: Access,
  tags: readonly string[],
  summary: string,
  schemas: S,
  config: Omit<FastifyContextConfig, 'access'> = {},
) => ({ config: { access, ...config } as FastifyContextConfig, schema: { tags, summary, ...schemas } })
