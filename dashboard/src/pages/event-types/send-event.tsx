import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { useId, useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import {
  Button,
  Dialog,
  DialogActions,
  Form,
  TextArea,
  TextField,
  bindFields,
  toast,
} from '../../ui/index.ts'
import { useEventTypes } from '../../webhooks/calls.ts'
import { jsonFault } from './json-fault.ts'
import { useTypesInUse } from './types-in-use.ts'

interface Preset {
  type?: string
  owner?: string
}

/** The button that sends an event, and its form. */
export function SendEvent(preset: Preset) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button kind="primary" icon={<Send size={16} aria-hidden />} onClick={() => setOpen(true)}>
        Send event
      </Button>
      {open && <SendDialog {...preset} onClose={() => setOpen(false)} />}
    </>
  )
}

function SendDialog({ type = '', owner = '', onClose }: Preset & { onClose: () => void }) {
  const id = useId()
  const client = useQueryClient()
  const navigate = useNavigate()
  const { data } = useEventTypes()
  const declared = data?.data.filter(({ builtIn }) => !builtIn) ?? []
  const inUse = useTypesInUse(declared)
  const sampleOf = (name: string): string => {
    const [sample = {}] = declared.find((one) => one.type === name)?.samples ?? []
    return JSON.stringify(sample, null, 2)
  }
  const [fields, setFields] = useState({ type, audience: owner, data: sampleOf(type) })
  const set = (change: Partial<typeof fields>): void => {
    const isUntouched = change.type !== undefined && fields.data === sampleOf(fields.type)
    setFields({ ...fields, ...change, ...(isUntouched && { data: sampleOf(change.type!) }) })
    send.reset()
  }
  const { text } = bindFields(fields, set)
  const fault = jsonFault(fields.data)
  const send = useMutation({
    mutationFn: async () => {
      const audience = fields.audience.trim()
      const body = {
        type: fields.type.trim(),
        data: JSON.parse(fields.data) as unknown,
        ...(audience !== '' && { audience }),
      }
      const answer = await api.post('/events', { body })
      return Array.isArray(answer) ? answer[0]! : answer
    },
    onSuccess: async ({ eventId }) => {
      toast('Event sent')
      onClose()
      await client.invalidateQueries({ queryKey: ['deliveries'] })
      await navigate({ to: '/deliveries', search: { event: eventId } })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (fault === undefined) send.mutate()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Send event"
      description="Matching endpoints receive it as a real event."
    >
      <Form problem={send.error} onSubmit={submit} className="grid gap-4">
        <TextField
          label="Event type"
          required
          autoFocus={type === ''}
          list={`${id}-types`}
          placeholder="order.paid"
          {...text('type')}
        />
        <datalist id={`${id}-types`}>
          {[...declared.map((one) => one.type), ...inUse].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <TextField
          label="Customer (optional)"
          hint="Send to one customer's endpoints. Empty: endpoints without a customer. *: all."
          {...text('audience')}
        />
        <TextArea label="Payload (JSON)" rows={8} error={fault} {...text('data')} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={send.isPending}>
            Send
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
