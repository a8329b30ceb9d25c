/**
 * What a child process gets of this one's environment, where a test sets all that configures the service: the programs' path, and the
 * cache of compiled code and the bundled libraries, without which a start of the service takes several times the processor time.
 */
export function childEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
  return {
    PATH,
    // Tests read lines of the log.
    LOG_FORMAT: 'json',
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }),
  }
}
