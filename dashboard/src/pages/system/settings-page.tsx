import { seldomChanges } from '../../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import {
  Badge,
  CopyButton,
  Empty,
  Loading,
  Page,
  ProblemNotice,
  Section,
  SelectField,
  TextField,
} from '../../ui/index.ts'
import { SystemLinks } from './system-links.tsx'

type Setting = RowOf<'GET /settings'>

const route = getRouteApi('/system/settings')
const origins = [
  { value: '', label: 'All settings' },
  { value: 'changed', label: 'Set by you' },
  { value: 'default', label: 'Defaults' },
  { value: 'unset', label: 'Not set' },
]

const isDefault = ({ origin }: Setting): boolean => origin === 'default' || origin.startsWith('demo mode')
const originOf = (setting: Setting): string =>
  setting.isSet ? (isDefault(setting) ? 'default' : 'changed') : 'unset'

/** The settings in force in the process that answered. */
export function SettingsPage() {
  const { q = '', origin = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: { q?: string; origin?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  const { data, error, refetch } = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => api.get('/settings', { signal }),
    ...seldomChanges,
  })
  const wanted = q.trim().toLowerCase()
  const shown = (data?.data ?? [])
    .filter((setting) => origin === '' || originOf(setting) === origin)
    .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted))
  return (
    <Page
      title="Settings in force"
      description="What this process was started with. To change a setting, change its environment and restart. Secrets are never shown."
    >
      <SystemLinks />
      <div className="mb-4 flex flex-wrap gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <TextField
            label="Search settings"
            hideLabel
            type="search"
            placeholder="Search by name or description"
            value={q}
            onChange={({ target }) => set({ q: target.value })}
          />
        </div>
        <SelectField
          label="Origin"
          hideLabel
          options={origins}
          value={origin}
          onChange={({ target }) => set({ origin: target.value })}
        />
      </div>
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <Section flush>
          <p role="status" className="sr-only">
            {shown.length} settings
          </p>
          {shown.length === 0 && <Empty title="No setting matches" />}
          <ul aria-label="Settings" className="divide-y divide-line">
            {shown.map((setting) => (
              <SettingRow key={setting.name} setting={setting} />
            ))}
          </ul>
        </Section>
      )}
    </Page>
  )
}

function SettingRow({ setting }: { setting: Setting }) {
  const { name, description, value, isSet, secret } = setting
  // A kept secret names its file, which is too long for a badge.
  const at = setting.origin.endsWith(')') ? setting.origin.indexOf(' (') : -1
  const origin = at === -1 ? setting.origin : setting.origin.slice(0, at)
  const file = at === -1 ? undefined : setting.origin.slice(at + 2, -1)
  return (
    <li className="grid gap-x-6 gap-y-1 px-4 py-3 md:grid-cols-[minmax(14rem,1fr)_2fr]">
      <div className="min-w-0">
        <span className="inline-flex max-w-full items-center gap-1">
          <code className="font-mono text-sm font-medium break-all">{name}</code>
          <CopyButton text={name} label={`Copy ${name}`} />
        </span>
        <p className="flex flex-wrap items-center gap-1.5">
          <Badge tone={!isSet || isDefault(setting) ? 'plain' : 'info'}>{origin}</Badge>
          {secret && <Badge tone="warn">secret</Badge>}
        </p>
        {file && <p className="mt-1 text-sm break-all text-soft">{file}</p>}
      </div>
      <div className="min-w-0">
        <p className="font-mono text-sm break-words">
          {secret && isSet ? 'set' : (value ?? <span className="text-soft">no value</span>)}
          {value === '' && <span className="text-soft">empty</span>}
        </p>
        <p className="text-sm text-soft">{plain(description)}</p>
      </div>
    </li>
  )
}

/** The Markdown of descriptions without its signs: links become their texts. */
const plain = (text: string): string => text.replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replaceAll('`', '')
