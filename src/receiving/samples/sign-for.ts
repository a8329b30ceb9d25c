import { secretAt } from '../schemes/create-scheme.ts'
import type { Scheme } from '../schemes/scheme.ts'
import { type SampleRequest, samples, type SignedSample, type SignSample } from './index.ts'

/** Returns what signs samples of a scheme, if its sender can be played. */
export function signerOf({ name }: Pick<Scheme, 'name'>): SignSample | undefined {
  const preset = name === 'hmac' ? 'provider' : name
  return Object.hasOwn(samples, preset) ? samples[preset] : undefined
}

/**
 * Signs a sample with the secret of a source, as its sender would. Returns undefined if the source would not accept it: its sender
 * signs with a key pair, or it is an `hmac()` with other headers than those of the source `provider`.
 */
export function signFor(scheme: Scheme, request: Omit<SampleRequest, 'secret'>): SignedSample | undefined {
  const sign = signerOf(scheme)
  const secret = secretAt(scheme, request.now)
  if (!sign || secret === undefined) return undefined
  let signed: SignedSample
  try {
    signed = sign({ ...request, secret })
  } catch {
    // The secret is a public key.
    return undefined
  }
  const headers = { 'content-type': 'application/json', ...signed.headers }
  const { now, url = '' } = request
  const result = scheme.verify({ rawBody: Buffer.from(signed.body), headers, now, url })
  return 'id' in result ? { ...signed, headers } : undefined
}
