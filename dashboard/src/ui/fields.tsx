import { useId, type ComponentProps, type ReactNode } from 'react'
import { classes } from './classes.ts'
import { useFault } from './form.tsx'

export const box =
  'w-full rounded-md border border-strong bg-card px-2.5 py-1.5 text-ink placeholder:text-soft disabled:opacity-60 aria-invalid:border-danger'

interface FieldParts {
  label: string
  /** The property of the body, by which a form finds the field of an error. */
  name?: string | undefined
  /** Below the input: what to enter. */
  hint?: ReactNode
  /** What is wrong with the entry, if the form does not say it. */
  error?: string | undefined
  /** Shows the label to screen readers only, for filters whose placeholder says enough. */
  hideLabel?: boolean
}

/** What is wrong with an entry; the input names it in `aria-describedby`. */
function Fault({ id, children }: { id: string; children: string }) {
  return (
    <p id={id} data-fault role="alert" className="mt-1 text-sm break-words text-danger">
      {children}
    </p>
  )
}

/** A label, an input, its hint and its error. */
export function Field({
  label,
  name,
  hint,
  error: own,
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
  const fault = useFault(name)
  const error = own ?? fault
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
      {error !== undefined && <Fault id={`${id}-error`}>{error}</Fault>}
    </div>
  )
}

/** Several inputs with one label, such as boxes of which several can be ticked. */
export function FieldGroup({
  label,
  name,
  error: own,
  children,
  ...rest
}: Pick<FieldParts, 'label' | 'name' | 'error'> & Omit<ComponentProps<'fieldset'>, 'name'>) {
  const id = useId()
  const fault = useFault(name)
  const error = own ?? fault
  return (
    <fieldset {...rest} aria-describedby={error === undefined ? undefined : id}>
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      {children}
      {error !== undefined && <Fault id={id}>{error}</Fault>}
    </fieldset>
  )
}

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  name,
  className,
  ...rest
}: FieldParts & ComponentProps<'input'>) {
  return (
    <Field {...{ label, name, hint, error, hideLabel }}>
      {(ids) => (
        <input type="text" name={name} {...rest} {...ids} className={classes(box, 'h-9', className)} />
      )}
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
  name,
  className,
  ...rest
}: FieldParts & ComponentProps<'textarea'>) {
  return (
    <Field {...{ label, name, hint, error, hideLabel }}>
      {(ids) => (
        <textarea
          rows={6}
          spellCheck={false}
          name={name}
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
  name,
  className,
  options,
  ...rest
}: FieldParts &
  ComponentProps<'select'> & { options: readonly (string | { value: string; label: string })[] }) {
  return (
    <Field {...{ label, name, hint, error, hideLabel }}>
      {(ids) => (
        <select name={name} {...rest} {...ids} className={classes(box, 'h-9', className)}>
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
  const fault = useFault(rest.name)
  const described = [hint && `${id}-hint`, fault && `${id}-error`].filter(Boolean).join(' ') || undefined
  return (
    <div className="flex min-h-6 items-start gap-2">
      <input
        type="checkbox"
        id={id}
        aria-describedby={described}
        aria-invalid={fault === undefined ? undefined : true}
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
        {fault !== undefined && <Fault id={`${id}-error`}>{fault}</Fault>}
      </label>
    </div>
  )
}
