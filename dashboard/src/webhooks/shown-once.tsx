import { CopyValue } from '../ui/copy.tsx'
import { Notice } from '../ui/notices.tsx'
import { Facts, Fact } from '../ui/page.tsx'

/** New keys. They are shown only once. */
export function ShownOnce({ secret, publicKey }: { secret?: string; publicKey?: string }) {
  if (secret === undefined && publicKey === undefined) return null
  return (
    <Notice tone="warn">
      <p className="mb-2 font-medium">
        {secret === undefined
          ? 'Verify deliveries with this public key.'
          : 'Copy the secret now. It is shown only once. Your server verifies signatures with it.'}
      </p>
      <Facts>
        {secret !== undefined && (
          <Fact name="Secret">
            <CopyValue value={secret} label="Copy the secret" />
          </Fact>
        )}
        {publicKey !== undefined && (
          <Fact name="Public key">
            <CopyValue value={publicKey} label="Copy the public key" />
          </Fact>
        )}
      </Facts>
    </Notice>
  )
}
