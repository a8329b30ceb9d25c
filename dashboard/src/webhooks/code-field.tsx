import { classes } from '../ui/classes.ts'
import { Field } from '../ui/fields.tsx'

/** An input of several lines of code, with their numbers. It is as high as the code, so that both scroll together. */
export function CodeField({
  label,
  name,
  hint,
  line,
  value,
  onChange,
}: {
  label: string
  name: string
  hint: string
  /** The line with an error. */
  line: number | undefined
  value: string
  onChange: (value: string) => void
}) {
  const lines = value.split('\n').length
  return (
    <Field label={label} name={name} hint={hint}>
      {(control) => (
        <div className="flex rounded-md border border-strong bg-card font-mono text-sm leading-6 focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-accent has-aria-invalid:border-danger">
          <div
            aria-hidden
            className="min-w-9 rounded-l-md border-r border-line bg-sunken py-1.5 text-right text-soft select-none"
          >
            {Array.from({ length: lines }, (_, at) => (
              <div
                key={at}
                className={classes('px-2', at + 1 === line && 'bg-danger-tint font-semibold text-danger')}
              >
                {at + 1}
              </div>
            ))}
          </div>
          <textarea
            {...control}
            wrap="off"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            maxLength={16_384}
            // One more for the scroll bar of long lines.
            rows={Math.max(10, lines + 1)}
            className="block min-w-0 flex-1 resize-none px-2.5 py-1.5 focus:outline-none"
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        </div>
      )}
    </Field>
  )
}
