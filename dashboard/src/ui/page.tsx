import { useEffect, type ReactNode } from 'react'
import { classes } from './classes.ts'

export interface PageProps {
  /** The heading, and the first part of the window's title. */
  title: string
  /** Beside the heading, for instance a status. */
  beside?: ReactNode
  /** One sentence. */
  description?: ReactNode
  /** Buttons of the whole page. */
  actions?: ReactNode
  children: ReactNode
}

/** A page: one h1, its actions, its content. */
export function Page({ title, beside, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Postern`
  }, [title])
  return (
    <>
      <div className="mb-5 flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xl font-semibold break-words">
            <span className="min-w-0 break-words">{title}</span> {beside}
          </h1>
          {description && <p className="mt-0.5 max-w-4xl text-soft">{description}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </>
  )
}

export interface SectionProps {
  title?: string
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Without padding, for tables that reach the edges. */
  flush?: boolean
  className?: string
}

/** A part of a page in a card, with an h2. */
export function Section({ title, description, actions, children, flush = false, className }: SectionProps) {
  return (
    <section className={classes('mb-5 rounded-lg border border-line bg-card', className)}>
      {title !== undefined && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-3 pb-2">
          <div className="min-w-0 flex-1 basis-56">
            <h2 className="font-semibold">{title}</h2>
            {description && <p className="text-sm text-soft">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush ? '' : classes('px-4 pb-4', title === undefined && 'pt-4')}>{children}</div>
    </section>
  )
}

/** Names and values, in two columns where there is room. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[minmax(0,7rem)_minmax(0,1fr)] items-baseline gap-x-4 gap-y-2 sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-x-6">
      {children}
    </dl>
  )
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="break-words text-soft">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  )
}
