import { Link } from '@tanstack/react-router'
import { CircleUser, LogOut } from 'lucide-react'
import { addressOf, api } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { IconButton } from '../ui/button.tsx'

/** Who is signed in, and the button to sign out. The name links to the account; ordinary users have that page in the sidebar. */
export function Person({ isAdmin, onGo }: { isAdmin: boolean; onGo?: () => void }) {
  const { user } = useSession()
  const signOut = async (): Promise<void> => {
    await api.post('/auth/logout')
    location.assign(addressOf('/login'))
  }
  const place = 'flex min-h-8 min-w-0 flex-1 items-center gap-2 rounded-md px-2'
  const name = (
    <>
      <CircleUser size={18} aria-hidden className="shrink-0 text-soft" />
      <span className="truncate text-sm">{user.name ?? user.email ?? user.id}</span>
    </>
  )
  return (
    <div className="mt-3 flex items-center gap-1 border-t border-line pt-3">
      {isAdmin ? (
        <Link
          to="/account"
          title="Account"
          onClick={onGo}
          activeOptions={{ includeSearch: false }}
          activeProps={{ className: 'bg-accent-tint font-medium', 'aria-current': 'page' }}
          className={`${place} hover:bg-sunken`}
        >
          {name}
        </Link>
      ) : (
        <span className={place}>{name}</span>
      )}
      <IconButton label="Sign out" onClick={() => void signOut()}>
        <LogOut size={17} aria-hidden />
      </IconButton>
    </div>
  )
}
