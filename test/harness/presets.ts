import * as declared from '../../src/receiving/schemes/index.ts'
import type { Scheme, TimedOptions } from '../../src/index.ts'

export type Preset = (options: TimedOptions & { header: string }) => Scheme

/** Schemes that are declared with other options than a secret. test/receiving/proofs.test.ts and certificates.test.ts have their cases. */
const { apiKey, basic, bearer, jwt, paypal, plaid, publicKey, sns, ...presets } = declared
export const otherProofs = { apiKey, basic, bearer, jwt, paypal, plaid, publicKey, sns }

/** The presets that are declared with a secret, by the names of their exports. */
export const secretPresets = presets as unknown as Readonly<Record<string, Preset>>
