import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { seldomChanges } from '../../api/refresh.ts'
import {
  Button,
  CheckField,
  Dialog,
  DialogActions,
  Form,
  TextArea,
  TextField,
  bindFields,
} from '../../ui/index.ts'
import { jsonFault } from './json-fault.ts'

export type StoredType = RowOf<'GET /stored-event-types'>

/** The event types that were created through the API, including archived and hidden ones. */
export function useStoredTypes(): readonly StoredType[] {
  const { data } = useQuery({
    queryKey: ['event-types', 'stored'],
    queryFn: ({ signal }) => api.get('/stored-event-types', { signal }),
    ...seldomChanges,
  })
  return data?.data ?? []
}

const byVersion = new Intl.Collator('en', { numeric: true }).compare

/** The newest version of a type's schema. */
export function newestVersion({ schemas }: Pick<StoredType, 'schemas'>): [version: string, schema: unknown] {
  const [newest] = Object.entries(schemas ?? {}).toSorted(([a], [b]) => byVersion(b, a))
  return newest ?? ['1', undefined]
}

interface TypeDialogProps {
  /** Absent: a new type. */
  stored?: StoredType
  onClose: () => void
  onSaved: (type: string) => void
}

/** Adds an event type, or edits one that was created through the API. */
export function TypeDialog({ stored, onClose, onSaved }: TypeDialogProps) {
  const client = useQueryClient()
  const [version, schema] = newestVersion(stored ?? { schemas: null })
  const [fields, setFields] = useState({
    type: stored?.type ?? '',
    description: stored?.description ?? '',
    schema: schema === undefined ? '' : JSON.stringify(schema, null, 2),
    deprecated: stored?.deprecated ?? false,
    archived: stored?.archived ?? false,
  })
  const { text, check } = bindFields(fields, (change) => setFields({ ...fields, ...change }))
  const type = fields.type.trim()
  const written = fields.schema.trim()
  const fault = written === '' ? undefined : jsonFault(written)
  const save = useMutation({
    mutationFn: () => {
      const { [version]: _newest, ...older } = stored?.schemas ?? {}
      const schemas = { ...older, ...(written !== '' && { [version]: JSON.parse(written) as unknown }) }
      const { description, deprecated, archived } = fields
      const { group = null, featureFlags = null } = stored ?? {}
      const rest = { group, featureFlags, schemas: Object.keys(schemas).length > 0 ? schemas : null }
      const body = { description, deprecated, archived, ...rest }
      return api.put('/event-types/{type}', { params: { type }, body })
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['event-types'] })
      onSaved(type)
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (fault === undefined) save.mutate()
  }
  return (
    <Dialog open wide onClose={onClose} title={stored ? `Edit ${type}` : 'Add event type'}>
      <Form problem={save.error} onSubmit={submit} className="grid gap-4">
        {!stored && (
          <TextField label="Event type" required autoFocus placeholder="order.paid" {...text('type')} />
        )}
        <TextField
          label="Description"
          placeholder="An order was paid."
          hint="Shown to your customers in the catalog and the portal."
          {...text('description')}
        />
        <TextArea
          label="Schema (JSON Schema, optional)"
          hint="Documents the payload. The first entry of examples is the sample payload."
          rows={10}
          error={fault}
          {...text('schema')}
        />
        <CheckField label="Deprecated" hint="Marked as deprecated in the catalog." {...check('deprecated')} />
        {stored && (
          <CheckField
            label="Archived"
            hint="Not shown to customers. Endpoints that subscribe to it still receive its events."
            {...check('archived')}
          />
        )}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {stored ? 'Save' : 'Add'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
