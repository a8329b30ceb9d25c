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
    <div className="relative rounded-md border border-line bg-sunken">
      <pre
        tabIndex={0}
        aria-label={label}
        className={`${maxHeight} overflow-auto p-3 pr-11 font-mono text-sm leading-relaxed`}
      >
        <code>{code}</code>
      </pre>
      <div className="absolute top-1 right-1 rounded-md bg-sunken">
        <CopyButton text={code} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  )
}
