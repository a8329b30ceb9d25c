import type { EmittingConfig } from './emitting/config.ts'
import type { ListingConfig } from './listing/config.ts'
import type { LoginConfig } from './login/config.ts'
import type { ReceivingConfig } from './receiving/config.ts'

/** What `postern.config.ts` exports by default. Everything is optional. */
export interface PosternConfig {
  login?: LoginConfig
  receiving?: ReceivingConfig
  emitting?: EmittingConfig
  listing?: ListingConfig
}

/** Returns its argument: it is there for the types. */
export function defineConfig(config: PosternConfig): PosternConfig {
  return config
}
