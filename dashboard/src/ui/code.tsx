import { language } from '../language/locale.ts'
import { fill, words } from '../language/words.ts'
import { CopyButton } from './copy.tsx'

/** A block of code or output that scrolls by itself, with a button to copy it. */
export function CodeBlock({
  code,
  label,
  maxHeight = 'max-h-96',
}: {
  code: string
  label: string
  maxHeight?: string
}) {
  return (
    <div className="flex items-start rounded-md border border-line bg-sunken">
      <pre
        tabIndex={0}
        aria-label={label}
        className={`${maxHeight} min-w-0 flex-1 overflow-auto p-3 font-mono text-sm leading-relaxed`}
      >
        <code>{code}</code>
      </pre>
      <div className="m-1 shrink-0">
        <CopyButton
          text={code}
          label={fill(words.ui.copyNamed, { label: language === 'en' ? label.toLowerCase() : label })}
        />
      </div>
    </div>
  )
}
