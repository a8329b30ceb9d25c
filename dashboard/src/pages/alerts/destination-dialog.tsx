import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  CheckField,
  Dialog,
  DialogActions,
  FieldGroup,
  Form,
  SelectField,
  TextField,
  toast,
} from '../../ui/index.ts'
import {
  addText,
  conditionKinds,
  conditions,
  kinds,
  repeats,
  type ConditionKind,
  type Destination,
  type Kind,
} from './kinds.ts'

/** Adds a destination, or edits one. */
export function DestinationDialog({
  kind,
  destination,
  onClose,
}: {
  kind: Kind | undefined
  destination?: Destination | undefined
  onClose: () => void
}) {
  if (kind === undefined) return null
  const { hint } = kinds[kind]
  return (
    <Dialog
      open
      onClose={onClose}
      title={destination ? `Edit ${destination.name}` : addText(kind)}
      description={hint}
    >
      <DestinationForm kind={kind} destination={destination} onClose={onClose} />
    </Dialog>
  )
}

function DestinationForm({
  kind,
  destination,
  onClose,
}: {
  kind: Kind
  destination: Destination | undefined
  onClose: () => void
}) {
  const queryClient = useQueryClient()
  const [name, setName] = useState(destination?.name ?? '')
  const [address, setAddress] = useState(destination?.to?.join(', ') ?? '')
  const [chosen, setChosen] = useState<ReadonlySet<ConditionKind>>(
    new Set(destination?.conditions ?? conditionKinds),
  )
  const [urgent, setUrgent] = useState(destination?.severity === 'error')
  const [repeat, setRepeat] = useState(destination ? String(destination.repeatSeconds ?? '') : '86400')
  const isMail = kind === 'email'
  const save = useMutation({
    mutationFn: () => {
      const where = isMail
        ? { to: address.split(/[\s,;]+/).filter((one) => one !== '') }
        : { url: address.trim() }
      const body = {
        name,
        ...(address.trim() !== '' && where),
        conditions: chosen.size === conditionKinds.length ? null : [...chosen],
        severity: urgent ? ('error' as const) : ('warning' as const),
        repeatSeconds: repeat === '' ? null : Number(repeat),
      }
      return destination
        ? api.patch('/alerts/{id}', { params: { id: destination.id }, body })
        : api.post('/alerts', { body: { kind, ...body } })
    },
    onSuccess: () => {
      toast(destination ? 'Saved' : `Added ${name}. Send a test alert to check that it works.`)
      void queryClient.invalidateQueries({ queryKey: ['alerts'] })
      onClose()
    },
  })
  const toggle = (one: ConditionKind): void => {
    const next = new Set(chosen)
    if (!next.delete(one)) next.add(one)
    setChosen(next)
  }
  return (
    <Form
      problem={save.error}
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <div className="flex flex-col gap-3">
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          placeholder="On call"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <TextField
          label={isMail ? 'Email addresses' : 'Webhook URL'}
          name={isMail ? 'to' : 'url'}
          hint={
            destination && !isMail
              ? `Leave empty to keep the current URL at ${destination.host}.`
              : isMail
                ? 'Up to 10, separated by commas.'
                : 'This URL is a credential: it is encrypted and not shown again.'
          }
          required={!destination || isMail}
          inputMode={isMail ? 'email' : 'url'}
          autoComplete="off"
          value={address}
          onChange={({ target }) => setAddress(target.value)}
        />
        <SelectField
          label="Reminders"
          name="repeatSeconds"
          options={
            repeats.some(({ value }) => value === repeat)
              ? repeats
              : [{ value: repeat, label: `Every ${repeat} seconds` }, ...repeats]
          }
          value={repeat}
          onChange={({ target }) => setRepeat(target.value)}
        />
        <CheckField
          label="Errors only, no warnings"
          name="severity"
          checked={urgent}
          onChange={({ target }) => setUrgent(target.checked)}
        />
        <FieldGroup label="Problems" name="conditions">
          <div className="grid gap-1.5 sm:grid-cols-2">
            {conditionKinds.map((one) => (
              <CheckField
                key={one}
                label={conditions[one]}
                checked={chosen.has(one)}
                onChange={() => toggle(one)}
              />
            ))}
          </div>
        </FieldGroup>
      </div>
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          kind="primary"
          busy={save.isPending}
          disabled={name.trim() === '' || chosen.size === 0}
        >
          {destination ? 'Save' : 'Add'}
        </Button>
      </DialogActions>
    </Form>
  )
}
