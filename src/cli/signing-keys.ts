import { isoTime } from '../runtime/iso-time.ts'
import { print } from './output.ts'
import { withServices } from './services.ts'

/** Makes the next key of access tokens. With `now` older keys are withdrawn at once: for when one has leaked. */
export async function rotateSigningKey({ now = false }: { now?: boolean }): Promise<void> {
  await withServices(async ({ signingKeys }) => {
    const { kid, activeAt } = await signingKeys().rotation.rotate(now ? 'now' : 'planned', { actor: 'cli' })
    print(
      { kid, activeAt: isoTime(activeAt) },
      now
        ? `${kid} signs from now on. Tokens that older keys signed are rejected; apps get new access tokens with their refresh tokens.\n`
        : `${kid} is published and signs from ${isoTime(activeAt)}. Tokens that older keys signed stay valid until they expire.\n`,
    )
  })
}
