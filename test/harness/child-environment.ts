/**
 * What a child process gets of this one's environment, where a test sets all that configures the service: the programs' path,
 * and the cache of compiled code, without which a start of the service takes twice the processor time.
 */
export function childEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }
}
