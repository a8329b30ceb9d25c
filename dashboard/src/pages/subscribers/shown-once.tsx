import { Facts, Fact, CopyValue, Notice } from '../../ui/index.ts'

/** New keys. This is the only time that they are shown. */
export function ShownOnce({ secret, publicKey }: { secret?: string; publicKey?: string }) {
  if (secret === undefined && publicKey === undefined) return null
  return (
    <Notice tone="warn">
      <p className="mb-2 font-medium">
        {secret === undefined
          ? 'Give the public key to the receiver.'
          : 'Copy the secret now. It is shown only this once; the receiver verifies signatures with it.'}
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
