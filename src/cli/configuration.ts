import { readEnvironment, type Configuration } from '../config/environment.ts'
import { withGeneratedSecrets } from '../config/generated-secrets.ts'
import { loadConfigModule } from '../config/module.ts'
import type { PosternConfig } from '../define-config.ts'

/** What a command works with: the environment, completed by generated secrets in demo mode, and the module. */
export async function readConfiguration(env = process.env): Promise<{ configuration: Configuration; config: PosternConfig | undefined; generated: string[] }> {
  const { configuration, generated } = withGeneratedSecrets(readEnvironment(env))
  return { configuration, generated, config: await loadConfigModule<PosternConfig>(configuration.configFile) }
}
