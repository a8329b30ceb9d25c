import type { PosternConfig } from '../define-config.ts'

/** The configuration, and how the service is part of another program. */
export interface MountOptions extends PosternConfig {
  /** The path below which the service is reached, such as `/gate`. Default: the path of BASE_URL. */
  prefix?: string
  /** Whether this process also handles received events and sends emitted ones. Default true. */
  workers?: boolean
  /** The folder with the migrations of the product's own tables. Default none. */
  migrations?: string
  /** The settings, by their names in the environment. Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>
}
