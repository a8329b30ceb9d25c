import { useId, type ComponentProps, type ReactNode } from 'react'
import { classes } from './classes.ts'

export const box =
  'w-full rounded-md border border-strong bg-card px-2.5 py-1.5 text-ink placeholder:text-soft disabled:opacity-60 aria-invalid:border-danger'

interface FieldParts {
  label: string
  /** Below the input: what to enter. */
  hint?: ReactNode
  /** What is wrong with the entry. */
  error?: string | undefined
  /** Shows the label to screen readers only, for filters whose placeholder says enough. */
  hideLabel?: boolean
}

/** A label, an input, its hint and its error. */
export function Field({
  label,
  hint,
  error,
  hideLabel = false,
  children,
}: FieldParts & {
  children: (ids: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': true | undefined
  }) => ReactNode
}) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
  return (
    <div className="min-w-0">
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'mb-1 block text-sm font-medium'}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-sm text-soft">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="mt-1 text-sm text-danger">
          {error}
        </p>
      )}
    </div>
  )
}

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  className,
  ...rest
}: FieldParts & ComponentProps<'input'>) {
  return (
    <Field {...{ label, hint, error, hideLabel }}>
      {(ids) => <input type="text" {...rest} {...ids} className={classes(box, 'h-9', className)} />}
    </Field>
  )
}

/** A text to search for, which the address holds; `undefined` for none. */
export function SearchField({
  value,
  onSearch,
  ...rest
}: FieldParts & { value: string | undefined; onSearch: (text: string | undefined) => void }) {
  return (
    <TextField
      {...rest}
      type="search"
      value={value ?? ''}
      onChange={({ target }) => onSearch(target.value || undefined)}
    />
  )
}

export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  className,
  ...rest
}: FieldParts & ComponentProps<'textarea'>) {
  return (
    <Field {...{ label, hint, error, hideLabel }}>
      {(ids) => (
        <textarea
          rows={6}
          spellCheck={false}
          {...rest}
          {...ids}
          className={classes(box, 'font-mono text-sm', className)}
        />
      )}
    </Field>
  )
}

export function SelectField({
  label,
  hint,
  error,
  hideLabel,
  className,
  options,
  ...rest
}: FieldParts &
  ComponentProps<'select'> & { options: readonly (string | { value: string; label: string })[] }) {
  return (
    <Field {...{ label, hint, error, hideLabel }}>
      {(ids) => (
        <select {...rest} {...ids} className={classes(box, 'h-9', className)}>
          {options.map((option) => {
            const { value, label } = typeof option === 'string' ? { value: option, label: option } : option
            return (
              <option key={value} value={value}>
                {label}
              </option>
            )
          })}
        </select>
      )}
    </Field>
  )
}

export function CheckField({
  label,
  hint,
  ...rest
}: { label: string; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className="flex min-h-6 items-start gap-2">
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...rest}
        className="mt-1 size-4 shrink-0"
      />
      <label htmlFor={id}>
        {label}
        {hint && (
          <span id={`${id}-hint`} className="block text-sm text-soft">
            {hint}
          </span>
        )}
      </label>
    </div>
  )
}
