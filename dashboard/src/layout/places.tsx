import { Link } from '@tanstack/react-router'
import { classes } from '../ui/classes.ts'
import type { PlaceGroup } from './navigation.ts'

/** The links of the sidebar. */
export function Places({ groups, onGo }: { groups: readonly PlaceGroup[]; onGo?: () => void }) {
  return groups.map(({ label, places }, at) => (
    <div key={label ?? at} className="mb-3">
      {label && <p className="px-3 pb-1 text-xs font-medium tracking-wide text-soft uppercase">{label}</p>}
      <ul>
        {places.map(({ to, label, icon: Icon }) => (
          <li key={to}>
            <Link
              to={to}
              onClick={onGo}
              activeOptions={{ exact: to === '/' || to === '/system', includeSearch: false }}
              className={classes(
                'flex min-h-8 items-center gap-2.5 rounded-md px-3 py-1 text-ink hover:bg-sunken',
              )}
              activeProps={{ className: 'bg-accent-tint font-medium', 'aria-current': 'page' }}
            >
              <Icon size={17} aria-hidden className="shrink-0 text-soft" /> {label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  ))
}
