import { Field as Base } from '@base-ui/react/field'
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
function Frame({ label, name, hint, error: own, children }: FieldParts & { children: ReactNode }) {
  const fault = useFault(name)
  const error = own ?? fault
  return (
    <Base.Root data-field name={name} invalid={error !== undefined} className="min-w-0">
      <Base.Label className="mb-1 block text-sm font-medium">{label}</Base.Label>
      {children}
      {hint && <Base.Description className="mt-1 text-sm text-soft">{hint}</Base.Description>}
      {error !== undefined && (
        <Base.Error match data-fault role="alert" className="mt-1 text-sm break-words text-danger">
          {error}
        </Base.Error>
      )}
    </Base.Root>
  )
}

type ControlProps = Pick<ComponentProps<'input'>, 'id' | 'aria-describedby' | 'aria-invalid'>

/** A label, an input of any kind, its hint and its error. */
export const Field = ({
  children,
  ...parts
}: FieldParts & { children: (control: ControlProps) => ReactNode }) => (
  <Frame {...parts}>
    <Base.Control
      render={({ id, 'aria-describedby': describedBy, 'aria-invalid': invalid }) => (
        <>{children({ id, 'aria-describedby': describedBy, 'aria-invalid': invalid })}</>
      )}
    />
  </Frame>
)

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
    <fieldset {...rest} data-field aria-describedby={error === undefined ? undefined : id}>
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
  name,
  className,
  ...rest
}: FieldParts & ComponentProps<'input'>) {
  return (
    <Frame {...{ label, name, hint, error }}>
      <Base.Control type="text" {...rest} className={classes(box, 'h-9', className)} />
    </Frame>
  )
}

export function TextArea({
  label,
  hint,
  error,
  name,
  className,
  ...rest
}: FieldParts & ComponentProps<'textarea'>) {
  return (
    <Frame {...{ label, name, hint, error }}>
      <Base.Control
        render={<textarea rows={6} spellCheck={false} {...rest} />}
        className={classes(box, 'font-mono text-sm', className)}
      />
    </Frame>
  )
}

export function SelectField({
  label,
  hint,
  error,
  name,
  className,
  options,
  ...rest
}: FieldParts &
  ComponentProps<'select'> & { options: readonly (string | { value: string; label: string })[] }) {
  return (
    <Frame {...{ label, name, hint, error }}>
      <Base.Control
        render={
          <select {...rest}>
            {options.map((option) => {
              const { value, label } = typeof option === 'string' ? { value: option, label: option } : option
              return (
                <option key={value} value={value}>
                  {label}
                </option>
              )
            })}
          </select>
        }
        className={classes(box, 'h-9', className)}
      />
    </Frame>
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
    <div data-field className="flex min-h-6 items-start gap-2">
      <input
        type="checkbox"
        id={id}
        aria-describedby={described}
        aria-invalid={fault === undefined ? undefined : true}
        {...rest}
        className="mt-1 size-4 shrink-0"
      />
      <label htmlFor={id} className="min-w-0 break-words">
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
