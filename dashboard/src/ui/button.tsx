import { Link, type LinkProps } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import type { ComponentProps, MouseEvent, ReactNode } from 'react'
import { classes } from './classes.ts'

export type ButtonKind = 'default' | 'primary' | 'danger' | 'quiet'

const kinds: Record<ButtonKind, string> = {
  default: 'border-line bg-card text-ink hover:border-strong',
  primary: 'border-accent bg-accent text-accent-ink hover:opacity-90',
  danger: 'border-danger bg-card text-danger hover:bg-danger-tint',
  quiet: 'border-transparent text-soft hover:bg-sunken hover:text-ink',
}

/** The classes of a button. */
export const buttonLook = (kind: ButtonKind, small: boolean): string =>
  classes(
    'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-50 aria-disabled:opacity-50',
    small ? 'min-h-7 px-2 py-0.5 text-sm' : 'min-h-9 px-3 py-1.5',
    kinds[kind],
  )

export interface ButtonProps extends ComponentProps<'button'> {
  /** `danger` for what destroys or stops something. Default `default`. */
  kind?: ButtonKind
  small?: boolean
  /** Shows that the action runs, and ignores clicks. The button keeps the focus, which a disabled one would lose. */
  busy?: boolean
  icon?: ReactNode
}

/** The default of a click would be to submit the form again. */
const ignore = (event: MouseEvent): void => event.preventDefault()

export function Button({
  kind = 'default',
  small = false,
  busy = false,
  icon,
  children,
  className,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...(busy && { 'aria-busy': true, 'aria-disabled': true, onClick: ignore })}
      className={classes(buttonLook(kind, small), className)}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  )
}

export interface ButtonLinkProps extends Omit<LinkProps, 'children'> {
  kind?: ButtonKind
  small?: boolean
  icon?: ReactNode
  children: ReactNode
}

/** A link that looks like a button. */
export function ButtonLink({ kind = 'default', small = false, icon, children, ...rest }: ButtonLinkProps) {
  return (
    <Link {...rest} className={`no-underline ${buttonLook(kind, small)}`}>
      {icon}
      {children}
    </Link>
  )
}

/** A link that looks like a button and saves a file. */
export function DownloadLink({ children, ...rest }: ComponentProps<'a'>) {
  return (
    <a download {...rest} className={`no-underline ${buttonLook('default', false)}`}>
      <Download size={16} aria-hidden /> {children}
    </a>
  )
}

/** A button that looks like a link, such as the name in a row that opens a drawer. */
export function LinkButton({ className, ...rest }: ComponentProps<'button'>) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(
        'inline-block min-h-6 max-w-full truncate text-left text-accent hover:underline',
        className,
      )}
    />
  )
}

/** A button with an icon only; `label` is its name. */
export function IconButton({
  label,
  children,
  className,
  ...rest
}: ComponentProps<'button'> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classes(
        'inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink disabled:opacity-50',
        className,
      )}
    >
      {children}
    </button>
  )
}

export function Spinner() {
  return (
    <span
      aria-hidden="true"
      className="inline-block size-4 animate-spin rounded-full border-2 border-current border-r-transparent"
    />
  )
}
