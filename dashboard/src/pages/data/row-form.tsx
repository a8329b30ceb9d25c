import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { api } from '../../api/client.ts'
import { Button, Dialog, DialogActions, Form, toast } from '../../ui/index.ts'
import { bodyOf, faultsOf, fieldsOf, formValue, type FormValue } from './form-schema.ts'
import { keyOfRow, type ListDescription, type Row } from './lists.ts'
import { RowInput } from './row-input.tsx'

/** Creates a row, or changes `row`. The fields are those of the schema that the service checks. */
export function RowForm({ list, row, onClose }: { list: ListDescription; row?: Row; onClose: () => void }) {
  const queries = useQueryClient()
  const fields = fieldsOf(row ? list.writes!.change : list.writes!.create, list.fields)
  const [values, setValues] = useState<Record<string, FormValue>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, formValue(field, row?.[field.name])])),
  )
  const [faults, setFaults] = useState<Record<string, string>>({})
  const save = useMutation({
    mutationFn: (body: Row) =>
      row
        ? api.request<Row>('PATCH', pathOf(list, row), { body })
        : api.request<Row>('POST', list.path, { body }),
    onSuccess: async () => {
      toast(row ? 'Row saved' : 'Row added')
      onClose()
      await queries.invalidateQueries({ queryKey: ['list-rows', list.path] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const found = faultsOf(fields, values, row !== undefined)
    setFaults(found)
    if (Object.keys(found).length === 0) save.mutate(bodyOf(fields, values, row))
  }
  return (
    <Dialog open onClose={onClose} title={row ? `Edit ${keyOfRow(list, row)}` : `Add row to ${list.path}`}>
      <Form problem={save.error} faults={faults} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {fields.map((field) => (
          <RowInput
            key={field.name}
            field={field}
            value={values[field.name] ?? null}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {row ? 'Save' : 'Add'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

/** The path of one row. */
export const pathOf = (list: ListDescription, row: Row): string =>
  `${list.path}/${encodeURIComponent(keyOfRow(list, row))}`
