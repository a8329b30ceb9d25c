import type { ConfigurationError } from '../../src/config/environment.ts'

/** By the name: the published package has a class of its own. */
export function isConfigurationError(error: unknown): error is ConfigurationError {
  return error instanceof Error && error.name === 'ConfigurationError'
}
