import { Link } from '@tanstack/react-router'
import { BookOpen, Moon, Search, Sun, SunMoon } from 'lucide-react'
import { Suspense, useEffect, useState } from 'react'
import { addressOf } from '../api/client.ts'
import { IconButton } from '../ui/button.tsx'
import { lazyPart } from '../ui/lazy-part.ts'
import { nextTheme, setTheme, useTheme } from './theme.ts'

const CommandPalette = lazyPart(() => import('./command-palette.tsx'))

export function Header({ isAdmin }: { isAdmin: boolean }) {
  return (
    <header className="sticky top-0 z-30 h-14 border-b border-line bg-card">
      <div className="mx-auto flex h-full max-w-[96rem] items-center gap-2 px-4 md:gap-3 md:px-6">
        <Link to="/" className="flex items-center gap-2 font-semibold">
          <img src={addressOf('/assets/icon.svg')} alt="" className="size-6" />
          <span className="max-sm:sr-only">Postern</span>
        </Link>
        <span className="flex-1" />
        {isAdmin && <SearchButton />}
        {isAdmin && <GuideStart />}
        <ThemeButton />
      </div>
    </header>
  )
}

const shortcut = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K'

function SearchButton() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen((before) => !before)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="flex min-h-9 items-center gap-2 rounded-md border border-line px-2.5 text-sm text-soft hover:border-strong"
      >
        <Search size={16} aria-hidden />
        <span className="max-sm:sr-only">Search</span>
        <kbd className="rounded border border-line px-1 font-sans text-xs max-md:hidden">{shortcut}</kbd>
      </button>
      {open && (
        <Suspense>
          <CommandPalette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

function GuideStart() {
  return (
    <a
      href={addressOf('/docs/guide/')}
      aria-label="Guide"
      title="Guide"
      className="inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink"
    >
      <BookOpen size={18} aria-hidden />
    </a>
  )
}

function ThemeButton() {
  const theme = useTheme()
  const Icon = { system: SunMoon, light: Sun, dark: Moon }[theme]
  return (
    <IconButton label={`Theme: ${theme}`} onClick={() => setTheme(nextTheme(theme))}>
      <Icon size={18} aria-hidden />
    </IconButton>
  )
}
