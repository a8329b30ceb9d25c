import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'

/** The parameter of the routes below `/auth/{provider}`. */
export const ProviderParams = Type.Object({ provider: Type.String() })
/** Calls of one IP address to one of these routes in a minute. */
export const limitPerIp = { max: 300, sharedByProcesses: true } as const

/** @throws Problem `unknown-provider` */
export function findProvider(providers: ReadonlyMap<string, ProviderClient>, name: string): ProviderClient {
  const providerClient = providers.get(name)
  if (!providerClient) throw new Problem('unknown-provider')
  return providerClient
}
