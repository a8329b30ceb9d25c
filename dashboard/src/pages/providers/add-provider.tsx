import { useState } from 'react'
import { addressOf } from '../../api/client.ts'
import { CodeBlock, Dialog, SelectField } from '../../ui/index.ts'
import { providerPresets, type ProviderPreset } from './presets.ts'

const openid = 'openid'
const options = [
  ...Object.entries(providerPresets).map(([value, { label }]) => ({ value, label })),
  { value: openid, label: 'Other OpenID Connect provider' },
]

/** The settings of a provider, and the URL to register there. */
export function AddProviderDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [chosen, setChosen] = useState('google')
  const name = chosen === openid ? 'sso' : chosen
  const { more = [] }: ProviderPreset =
    chosen === openid ? { label: '', more: ['ISSUER'] } : providerPresets[chosen]!
  const variables = ['CLIENT_ID', ...(chosen === 'apple' ? [] : ['CLIENT_SECRET']), ...more]
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Add provider"
      description="An identity provider that users sign in with."
    >
      <SelectField
        label="Provider"
        options={options}
        value={chosen}
        onChange={({ target }) => setChosen(target.value)}
      />
      <ol className="mt-4 list-decimal space-y-3 pl-5">
        <li>
          <p className="mb-1">Register an application at the provider, with this callback URL.</p>
          <CodeBlock code={addressOf(`/auth/${name}/callback`)} label="Callback URL" />
        </li>
        <li>
          <p className="mb-1">Set these in the environment or in the .env file, and restart.</p>
          <CodeBlock
            code={variables.map((variable) => `${name.toUpperCase()}_${variable}=…`).join('\n')}
            label="Environment"
          />
        </li>
        <li>The provider appears here and on the sign-in page. Check it with the button Check now.</li>
      </ol>
    </Dialog>
  )
}
