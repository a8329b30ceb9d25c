import { createContext, use, useLayoutEffect, useMemo, useRef, useState, type ComponentProps } from 'react'
import { PosternError } from '../api/client.ts'
import { problemText } from '../language/words.ts'
import { ProblemNotice } from './notices.tsx'

/** What is wrong with the fields of a form, by the name of the input, which is the name of the body's property. */
export type Faults = Readonly<Record<string, string>>

const FaultsOfForm = createContext<Faults>({})

/** What is wrong with the field of this name. */
export function useFault(name: string | undefined): string | undefined {
  const faults = use(FaultsOfForm)
  return name !== undefined && Object.hasOwn(faults, name) ? faults[name] : undefined
}

const none: Faults = {}

/**
 * A form whose errors stand beside their fields: those that it found itself, and the error of its call, whose `source.pointer`
 * names a property of the body. The first wrong field gets the focus. An error that belongs to no field of the form is shown above it.
 * @param problem the error of the call
 * @param faults what the form found before the call; a new object for each try
 */
export function Form({
  problem,
  faults = none,
  children,
  ...rest
}: ComponentProps<'form'> & { problem: unknown; faults?: Faults }) {
  const form = useRef<HTMLFormElement>(null)
  const [withoutField, setWithoutField] = useState<unknown>()
  const all = useMemo(() => ({ ...faultsOfProblem(problem), ...faults }), [problem, faults])
  // Before the page is painted, so that no error is seen in two places.
  useLayoutEffect(() => {
    if (!problem && faults === none) return
    if (!form.current || !showFirstFault(form.current)) setWithoutField(problem)
  }, [problem, faults])
  return (
    <form ref={form} {...rest} onInvalidCapture={({ target }) => openAround(target as Element)}>
      {Boolean(problem) && problem === withoutField && (
        <div className="col-span-full">
          <ProblemNotice error={problem} />
        </div>
      )}
      <FaultsOfForm value={all}>{children}</FaultsOfForm>
    </form>
  )
}

/**
 * The error of a call at the property that its pointer names: `/eventTypes/0` is one of `eventTypes`. A field within such a property
 * has the whole pointer as its name.
 */
function faultsOfProblem(problem: unknown): Faults {
  if (!(problem instanceof PosternError)) return none
  const name = problem.pointer?.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')
  return name === undefined
    ? none
    : { [name]: problemText(problem), [problem.pointer!]: problemText(problem) }
}

/** The first error in the form comes into view, and its input gets the focus. Without an error returns false. */
function showFirstFault(form: HTMLFormElement): boolean {
  const fault = form.querySelector('[data-fault]')
  const field = fault?.closest('[data-field]')?.querySelector<HTMLElement>('input, select, textarea, button')
  if (!fault || !field) return false
  openAround(fault)
  field.focus()
  fault.scrollIntoView({ block: 'nearest' })
  return true
}

/** A folded part of the form is opened: the browser cannot focus what it hides. */
function openAround(element: Element): void {
  for (let part = element.closest('details'); part; part = part.parentElement?.closest('details') ?? null)
    part.open = true
}
