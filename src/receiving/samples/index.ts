import { bodySigners } from './body-signers.ts'
import type { SignSample } from './sample.ts'
import { timedSigners } from './timed-signers.ts'

/** The senders that `postern send` can play, by the name that `--source` takes. */
export const samples: Readonly<Record<string, SignSample>> = { ...bodySigners, ...timedSigners }
