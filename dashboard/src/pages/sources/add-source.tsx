import { useState } from 'react'
// The presets' own data: a copy would differ from them some day.
import { credentialOptions, setUps } from '../../../../src/receiving/schemes/set-up.ts'
import { addressOf } from '../../api/client.ts'
import { CodeBlock, Dialog, SelectField, TextField, WithCode } from '../../ui/index.ts'

const senders = Object.entries(setUps)
  .map(([value, { label }]) => ({ value, label }))
  .toSorted((one, other) => one.label.localeCompare(other.label))
/** What a preset needs beside its secret. */
const moreOptions: Readonly<Record<string, string>> = {
  'api-key': "header: 'x-api-key', ",
  basic: "user: 'sender', ",
  hmac: "header: 'x-signature', ",
  jwt: "issuer: 'https://accounts.google.com', claims: { email_verified: true }, ",
  meta: "verifyToken: process.env['META_VERIFY_TOKEN'] ?? '', ",
  plaid: "clientId: process.env['PLAID_CLIENT_ID'] ?? '', ",
  'public-key': "algorithm: 'ed25519', header: 'x-signature', ",
}

/** The text to add to the configuration, and what to do at the sender. */
export default function AddSourceDialog({ onClose }: { onClose: () => void }) {
  const [sender, setSender] = useState('stripe')
  const [typed, setTyped] = useState('')
  const name = typed.trim() || sender
  const preset = sender.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())
  const option = sender === 'jwt' ? 'audience' : (credentialOptions[sender] ?? 'secret')
  const suffix = option === 'secret' ? 'WEBHOOK_SECRET' : option.replaceAll(/(?=[A-Z])/g, '_').toUpperCase()
  const variable = `${name.toUpperCase().replaceAll(/[^A-Z\d]+/g, '_')}_${suffix}`
  const key = /^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name)
  const code = `// postern.config.ts
import { defineConfig, ${preset} } from 'postern'

export default defineConfig({
  receiving: {
    sources: {
      ${key}: ${preset}({ ${moreOptions[sender] ?? ''}${option}: process.env['${variable}'] ?? '' }),
    },
  },
})`
  return (
    <Dialog
      open
      onClose={onClose}
      wide
      title="Add source"
      description="A source verifies and stores the webhooks of one sender."
    >
      <div className="mb-4 grid gap-3 sm:grid-cols-2">
        <SelectField
          label="Sender"
          options={senders}
          value={sender}
          onChange={({ target }) => setSender(target.value)}
        />
        <TextField
          label="Name"
          hint="Part of the URL"
          placeholder={sender}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </div>
      <ol className="list-decimal space-y-3 pl-5">
        <li>
          <p className="mb-1">Add the source to your configuration.</p>
          <CodeBlock code={code} label="Configuration" />
        </li>
        <li>
          <p className="mb-1">Set this variable in the environment or in the .env file, and restart.</p>
          <CodeBlock code={`${variable}=…`} label="Environment" />
        </li>
        <li>
          <p className="mb-1">Set up the sender with this URL.</p>
          <CodeBlock code={addressOf(`/webhooks/${encodeURIComponent(name)}`)} label="URL" />
          <ul className="mt-2 list-disc space-y-1 pl-5">
            {(setUps[sender]?.steps ?? []).map((step) => (
              <li key={step}>
                <WithCode
                  text={step
                    .replace('{secret}', `\`${variable}\``)
                    .replace('{signs}', 'sends the signature in the header `x-signature`')}
                />
              </li>
            ))}
          </ul>
        </li>
      </ol>
    </Dialog>
  )
}
