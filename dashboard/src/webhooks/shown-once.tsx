import { words } from '../language/words.ts'
import { CopyValue } from '../ui/copy.tsx'
import { Notice } from '../ui/notices.tsx'
import { Facts, Fact } from '../ui/page.tsx'

/** New keys. They are shown only once. */
export function ShownOnce({ secret, publicKey }: { secret?: string; publicKey?: string }) {
  if (secret === undefined && publicKey === undefined) return null
  return (
    <Notice tone="warn">
      <p className="mb-2 font-medium">
        {secret === undefined ? words.secrets.verifyWithKey : words.secrets.copyNow}
      </p>
      <Facts>
        {secret !== undefined && (
          <Fact name={words.secrets.secret}>
            <CopyValue value={secret} label={words.secrets.copySecret} />
          </Fact>
        )}
        {publicKey !== undefined && (
          <Fact name={words.secrets.publicKey}>
            <CopyValue value={publicKey} label={words.secrets.copyPublicKey} />
          </Fact>
        )}
      </Facts>
    </Notice>
  )
}
