/** What this library uses of `node:crypto`. */
interface NodeCrypto {
  webcrypto: Crypto
  createPublicKey(input: { key: object; format: 'jwk' }): object
  verify(
    hash: string | null,
    data: Uint8Array,
    key: { key: object; dsaEncoding?: 'ieee-p1363' },
    signature: Uint8Array,
  ): boolean
}

type WithBuiltins = { process?: { getBuiltinModule?: (name: string) => unknown } }

/**
 * `node:crypto` where the runtime offers it without an import, as Node, Bun and Deno do; `undefined` elsewhere. It verifies in
 * the calling thread, which takes less processor time than Web Crypto's way through a pool of threads.
 */
export const nodeCrypto: NodeCrypto | undefined = builtin()

function builtin(): NodeCrypto | undefined {
  try {
    return (globalThis as WithBuiltins).process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined
  } catch {
    return undefined
  }
}

/** Web Crypto: a global everywhere but in Node 18, which must be asked for it. */
export async function webCrypto(): Promise<Crypto> {
  const known = (globalThis as { crypto?: Crypto }).crypto ?? nodeCrypto?.webcrypto
  if (known) return known
  // In a variable, so that bundlers for browsers do not look for the module.
  const name = 'node:crypto'
  const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as NodeCrypto
  return module.webcrypto
}
