import { addressOf } from '../../api/client.ts'
import { CopyValue, Fact, Facts, Notice } from '../../ui/index.ts'

/** The credentials of an app, right after they are created. */
export function ShownSecret({ clientId, secret }: { clientId: string; secret: string | undefined }) {
  return (
    <>
      {secret !== undefined && <Notice tone="warn">Copy the secret now. It won't be shown again.</Notice>}
      <Facts>
        <Fact name="Client ID">
          <CopyValue value={clientId} label="Copy the client ID" />
        </Fact>
        {secret !== undefined && (
          <Fact name="Secret">
            <CopyValue value={secret} label="Copy the secret" />
          </Fact>
        )}
        <Fact name="Issuer">
          <CopyValue value={addressOf('')} label="Copy the issuer" />
        </Fact>
      </Facts>
    </>
  )
}
