import { resolve } from 'node:path'
import { readEnvironment } from '../config/environment.ts'
import {
  secretsFile,
  withGeneratedSecrets,
  type CompletedConfiguration,
} from '../config/generated-secrets.ts'
import { loadConfigModule } from '../config/module.ts'
import type { PosternConfig } from '../define-config.ts'

export interface CommandConfiguration extends CompletedConfiguration {
  config: PosternConfig | undefined
  /** Where demo mode keeps them. */
  secretsFile: string
}

/** What a command works with: the environment, completed by generated secrets in demo mode, and the module. */
export async function readConfiguration(env = process.env): Promise<CommandConfiguration> {
  const completed = withGeneratedSecrets(readEnvironment(env))
  const { databaseUrl, configFile } = completed.configuration
  return {
    ...completed,
    secretsFile: resolve(secretsFile(databaseUrl)),
    config: await loadConfigModule<PosternConfig>(configFile),
  }
}
