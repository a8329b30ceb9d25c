import {
  Activity,
  AppWindow,
  Bell,
  CircleUser,
  Cog,
  Contact,
  Database,
  House,
  KeyRound,
  ListChecks,
  MailPlus,
  Radio,
  ScrollText,
  Send,
  Tags,
  TriangleAlert,
  Users,
  Webhook,
  Workflow,
  type LucideIcon,
} from 'lucide-react'

export interface Place {
  to: string
  label: string
  icon: LucideIcon
}

export interface PlaceGroup {
  label?: string
  places: readonly Place[]
}

/** What an administrator sees, above the link to their account. */
export const adminPlaces: readonly PlaceGroup[] = [
  { places: [{ to: '/', label: 'Home', icon: House }] },
  {
    label: 'Inbound',
    places: [
      { to: '/events', label: 'Events', icon: Activity },
      { to: '/failures', label: 'Failures', icon: TriangleAlert },
      { to: '/sources', label: 'Sources', icon: Webhook },
      { to: '/handlers', label: 'Handlers', icon: Workflow },
    ],
  },
  {
    label: 'Outbound',
    places: [
      { to: '/deliveries', label: 'Deliveries', icon: Send },
      { to: '/subscribers', label: 'Endpoints', icon: Radio },
      { to: '/event-types', label: 'Event types', icon: Tags },
      { to: '/customers', label: 'Customers', icon: Contact },
      { to: '/alerts', label: 'Alerts', icon: Bell },
    ],
  },
  {
    label: 'People',
    places: [
      { to: '/users', label: 'Users', icon: Users },
      { to: '/invitations', label: 'Invitations', icon: MailPlus },
      { to: '/providers', label: 'Providers', icon: ListChecks },
      { to: '/apps', label: 'Apps', icon: AppWindow },
    ],
  },
  {
    label: 'Data and system',
    places: [
      { to: '/data', label: 'Data', icon: Database },
      { to: '/system/keys', label: 'API keys', icon: KeyRound },
      { to: '/system/audit', label: 'Audit log', icon: ScrollText },
      { to: '/system', label: 'System', icon: Cog },
    ],
  },
]

/** What all others see. */
export const userPlaces: readonly PlaceGroup[] = [
  { places: [{ to: '/account', label: 'Account', icon: CircleUser }] },
]

/** The bar at the bottom of a telephone, beside "More". */
export const mainPlaces: readonly Place[] = ['/', '/events', '/deliveries', '/users'].map((to) =>
  adminPlaces.flatMap(({ places }) => places).find((place) => place.to === to)!,
)
