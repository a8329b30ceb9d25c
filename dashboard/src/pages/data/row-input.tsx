import type { ReactNode } from 'react'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/index.ts'
import type { FormField, FormValue } from './form-schema.ts'
import { localTime } from '../../ui/format.ts'

interface InputProps {
  field: FormField
  value: FormValue
  onChange: (value: FormValue) => void
}

/** The control that fits the type of a field; with a box for "no value" where the field may be without one. */
export function RowInput(props: InputProps) {
  const { field, value, onChange } = props
  const { name, kind, nullable } = field
  // Three states are a choice.
  if (!nullable || kind === 'boolean' || kind === 'choice') return <Control {...props} />
  return (
    <div className="flex flex-col gap-1">
      <Control {...props} />
      <CheckField
        label="No value (null)"
        aria-label={`No value for ${name}`}
        checked={value === null}
        onChange={({ target }) => onChange(target.checked ? null : '')}
      />
    </div>
  )
}

function Control({ field, value, onChange }: InputProps): ReactNode {
  const { name, kind, whole, required, nullable, options, description, longest } = field
  const common = {
    label: required ? name : `${name} (optional)`,
    name,
    hint: description.toLowerCase() === name.toLowerCase() ? '' : description,
    disabled: value === null && kind !== 'choice',
    required: required && !nullable,
    value: typeof value === 'string' ? value : '',
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
  }
  switch (kind) {
    case 'boolean':
      return nullable ? (
        <TruthField {...common} value={value} onChange={onChange} />
      ) : (
        <CheckField
          label={name}
          name={name}
          hint={description}
          checked={value === true}
          onChange={({ target }) => onChange(target.checked)}
        />
      )
    case 'choice':
      return (
        <SelectField
          {...common}
          options={[
            ...(nullable || value === '' ? [{ value: '', label: nullable ? 'no value' : 'choose…' }] : []),
            ...options,
          ]}
          onChange={({ target }) => onChange(target.value === '' && nullable ? null : target.value)}
        />
      )
    case 'date':
      return <TextField {...common} type="date" />
    case 'time':
      return (
        <TextField
          {...common}
          type="datetime-local"
          max="9999-12-31T23:59:59"
          step={1}
          value={localTime(common.value)}
          onChange={({ target }) => onChange(target.value === '' ? '' : new Date(target.value).toISOString())}
        />
      )
    case 'json':
      return <TextArea {...common} rows={6} />
    case 'longText':
      return <TextArea {...common} rows={8} maxLength={longest} className="font-sans" />
    default:
      return (
        <TextField
          {...common}
          maxLength={longest}
          inputMode={kind === 'number' ? (whole ? 'numeric' : 'decimal') : undefined}
          autoComplete="off"
        />
      )
  }
}

const truths = [
  { value: '', label: 'no value' },
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
]

function TruthField({
  value,
  onChange,
  ...common
}: { label: string; name: string; hint: string } & Pick<InputProps, 'value' | 'onChange'>) {
  const { label, name, hint } = common
  return (
    <SelectField
      {...{ label, name, hint }}
      options={truths}
      value={value === null ? '' : String(value)}
      onChange={({ target }) => onChange(target.value === '' ? null : target.value === 'true')}
    />
  )
}
