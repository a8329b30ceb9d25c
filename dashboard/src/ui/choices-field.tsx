import { Menu as Base } from '@base-ui/react/menu'
import { Check, ChevronDown } from 'lucide-react'
import { useRef } from 'react'
import { box, Field } from './fields.tsx'

/** Several of a few values, in a menu that stays open while one chooses. */
export function ChoicesField({
  label,
  name,
  title,
  values,
  chosen,
  onChange,
}: {
  label: string
  name?: string
  title?: string
  values: readonly string[]
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const text = chosen.length === 0 ? 'any' : chosen.join(', ')
  const toggle = (value: string, on: boolean): void =>
    onChange(values.filter((one) => (one === value ? on : chosen.includes(one))))
  return (
    <Field label={label} name={name}>
      {(ids) => (
        <Base.Root>
          <Base.Trigger
            {...ids}
            aria-label={`${label}: ${text}`}
            title={title}
            className={`${box} flex h-9 items-center justify-between gap-2 text-left`}
          >
            <span className="truncate">{text}</span>
            <ChevronDown size={16} aria-hidden className="shrink-0" />
          </Base.Trigger>
          {/* Within the landmark of the form. */}
          <div ref={place} />
          <Base.Portal container={place}>
            <Base.Positioner positionMethod="fixed" sideOffset={4} align="start" className="z-50">
              <Base.Popup className="max-h-80 min-w-44 overflow-auto rounded-md border border-line bg-raised p-1 shadow-lg focus:outline-none">
                {values.map((value) => (
                  <Base.CheckboxItem
                    key={value}
                    checked={chosen.includes(value)}
                    onCheckedChange={(on) => toggle(value, on)}
                    closeOnClick={false}
                    className="flex min-h-8 cursor-pointer items-center gap-2 rounded px-2 data-[highlighted]:bg-sunken"
                  >
                    <span className="size-4 shrink-0">
                      <Base.CheckboxItemIndicator>
                        <Check size={16} aria-hidden />
                      </Base.CheckboxItemIndicator>
                    </span>
                    {value}
                  </Base.CheckboxItem>
                ))}
              </Base.Popup>
            </Base.Positioner>
          </Base.Portal>
        </Base.Root>
      )}
    </Field>
  )
}
