import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { addressOf, api } from '../../api/client.ts'
import { seldomChanges } from '../../api/refresh.ts'
import {
  Button,
  CheckField,
  CodeBlock,
  CopyButton,
  Dialog,
  DialogActions,
  FieldGroup,
  Form,
  Notice,
  ProblemNotice,
  SelectField,
  TextField,
} from '../../ui/index.ts'
import { presets, scopes, wide, type Scope } from './scopes.ts'

type NewKey = AnswerOf<'POST /keys'>

const day = 86_400_000
const ends = [
  { value: '90', label: 'In 90 days' },
  { value: '30', label: 'In 30 days' },
  { value: '365', label: 'In 1 year' },
  { value: '', label: 'Never' },
]

/** Creates a key, and shows it this once. */
export function CreateKeyDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [made, setMade] = useState<NewKey>()
  const close = (): void => {
    setMade(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={made ? 'API key created' : 'Create API key'}
      description={made ? undefined : 'Select only the scopes that the program needs.'}
    >
      {made ? <Made made={made} onClose={close} /> : <KeyForm onMade={setMade} onClose={close} />}
    </Dialog>
  )
}

function KeyForm({ onMade, onClose }: { onMade: (made: NewKey) => void; onClose: () => void }) {
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [days, setDays] = useState('90')
  const applications = useApplicationScopes()
  const offered = [...Object.entries(scopes), ...(applications.data ?? [])]
  const create = useMutation({
    mutationFn: () => {
      const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * day).toISOString()
      // The type has the scopes of every installation, without those of this one's applications.
      return api.post('/keys', { body: { name, scopes: [...chosen] as Scope[], expiresAt } })
    },
    onSuccess: (made) => {
      onMade(made)
      void queryClient.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  const toggle = (scope: string): void => {
    const next = new Set(chosen)
    if (!next.delete(scope)) next.add(scope)
    setChosen(next)
  }
  const isWide = chosen.has(wide) && days === ''
  return (
    <Form problem={create.error} onSubmit={submit}>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          placeholder="shop back end"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <SelectField
          label="Expires"
          name="expiresAt"
          options={ends}
          value={days}
          onChange={({ target }) => setDays(target.value)}
        />
      </div>
      <FieldGroup label="Scopes" name="scopes" className="mt-4">
        <div className="mb-3 flex flex-wrap gap-2">
          {presets.map((preset) => (
            <Button key={preset.label} onClick={() => setChosen(new Set(preset.scopes))}>
              {preset.label}
            </Button>
          ))}
        </div>
        <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
          {offered.map(([scope, hint]) => (
            <CheckField
              key={scope}
              label={scope}
              hint={hint}
              checked={chosen.has(scope)}
              onChange={() => toggle(scope)}
            />
          ))}
        </div>
      </FieldGroup>
      {applications.error && <ProblemNotice error={applications.error} />}
      {isWide && (
        <div className="mt-4">
          <Notice tone="warn">
            A key with the scope admin should expire. Doctor warns about keys that do not.
          </Notice>
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          kind="primary"
          busy={create.isPending}
          disabled={name.trim() === '' || chosen.size === 0}
        >
          Create
        </Button>
      </DialogActions>
    </Form>
  )
}

/** The scopes of guarded applications, each with what it allows. */
const useApplicationScopes = () =>
  useQuery({
    queryKey: ['keys', 'scopes'],
    queryFn: async ({ signal }) => {
      const { applicationScopes } = await api.get('/keys', { query: { limit: '1' }, signal })
      return applicationScopes.map(({ scope, hosts }) => [scope, `Use ${hosts.join(', ')}`] as const)
    },
    ...seldomChanges,
  })

function Made({ made, onClose }: { made: NewKey; onClose: () => void }) {
  const sample = `curl -H "Authorization: Bearer ${made.key}" ${addressOf('/events?limit=1')}`
  return (
    <>
      <Notice tone="warn">Copy the key now. You will not see it again.</Notice>
      <div className="flex flex-wrap items-center gap-2 rounded-md border border-line bg-sunken p-3">
        <code aria-label="The key" className="min-w-0 flex-1 font-mono text-sm break-all">
          {made.key}
        </code>
        <CopyButton text={made.key} label="Copy the key">
          Copy
        </CopyButton>
      </div>
      <p className="mt-4 mb-1 text-sm font-medium">Use</p>
      <CodeBlock code={sample} label="Request with the key" />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </>
  )
}
