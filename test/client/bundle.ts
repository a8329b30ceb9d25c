import { join } from 'node:path'
import { rolldown } from 'rolldown'

const source = join(import.meta.dirname, '../../packages/client/src')

/** An entry of the client library with all that it needs, as the bundler of an application makes it. */
export async function bundleClient(
  entry: string,
  format: 'esm' | 'iife' = 'esm',
  minify = true,
): Promise<string> {
  const build = await rolldown({
    input: join(source, entry),
    platform: 'browser',
    external: ['react'],
  })
  const { output } = await build.generate({ format, minify, name: 'client', codeSplitting: false })
  return output[0].code
}
