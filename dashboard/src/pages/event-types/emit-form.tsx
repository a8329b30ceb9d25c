import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import { Button, Form, Notice, Section, TextArea, TextField, useConfirm } from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'

/** Emits an event of a type; the service checks the data against the schema. */
export function EmitForm({ type, sample }: { type: string; sample: string }) {
  const client = useQueryClient()
  const confirm = useConfirm()
  const [text, setText] = useState(sample)
  const [audience, setAudience] = useState('')
  const fault = faultOf(text)
  const emit = useMutation({
    mutationFn: async () => {
      const body = {
        type,
        data: JSON.parse(text) as unknown,
        ...(audience.trim() !== '' && { audience: audience.trim() }),
      }
      const answer = await api.post('/events', { body })
      return Array.isArray(answer) ? answer[0]! : answer
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['deliveries'] }),
  })
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const whom =
      audience.trim() === ''
        ? 'without a customer'
        : audience.trim() === '*'
          ? 'of everybody'
          : `of ${audience.trim()}`
    const question = {
      title: `Emit ${type}?`,
      consequence: `All subscribers ${whom} that want ${type} get this event for real.`,
      action: 'Emit',
      kind: 'primary',
    } as const
    if (await confirm(question)) emit.mutate()
  }
  return (
    <Section title="Emit an event" description="It is stored and sent like those of your product.">
      <Form problem={emit.error} onSubmit={(event) => void submit(event)} className="grid max-w-3xl gap-4">
        <TextArea
          label="Data, as JSON"
          name="data"
          rows={8}
          value={text}
          error={fault}
          onChange={({ target }) => {
            setText(target.value)
            emit.reset()
          }}
        />
        <TextField
          label="Customer (optional)"
          name="audience"
          hint="Whose subscribers get it. Empty: subscribers without a customer. * means everybody."
          value={audience}
          onChange={({ target }) => setAudience(target.value)}
        />
        {emit.data && (
          <Notice>
            Emitted as {emit.data.eventId}.{' '}
            <Link to="/deliveries" search={{ event: emit.data.eventId }} className={linkLook}>
              See its deliveries
            </Link>
          </Notice>
        )}
        <div>
          <Button type="submit" kind="primary" busy={emit.isPending} disabled={fault !== undefined}>
            Emit
          </Button>
        </div>
      </Form>
    </Section>
  )
}

function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}
