import { getRouteApi } from '@tanstack/react-router'
import {
  Badge,
  CopyButton,
  Empty,
  FilterBar,
  Loading,
  Page,
  ProblemNotice,
  Section,
  type Filter,
} from '../../ui/index.ts'
import { groupOf, groupTitles, valueInWords } from './setting-groups.ts'
import { SystemLinks } from './system-links.tsx'
import { useSettings, type Setting } from './use-setting.ts'

const route = getRouteApi('/system/settings')
const filters: readonly Filter[] = [
  { name: 'q', label: 'Search settings', placeholder: 'retention' },
  {
    name: 'origin',
    label: 'Origin',
    options: [
      { value: '', label: 'All settings' },
      { value: 'changed', label: 'Set by you' },
      { value: 'default', label: 'Defaults' },
      { value: 'unset', label: 'Not set' },
    ],
  },
]

const isDefault = ({ origin }: Setting): boolean => origin === 'default' || origin.startsWith('demo mode')
const originOf = (setting: Setting): string =>
  setting.isSet ? (isDefault(setting) ? 'default' : 'changed') : 'unset'

/** The settings in force in the process that answered, by subject. */
export function SettingsPage() {
  const { q = '', origin = '' } = route.useSearch()
  const { data, error, refetch } = useSettings()
  const isFiltered = q !== '' || origin !== ''
  const words = q.trim().toLowerCase().split(/\s+/)
  const shown = (data?.data ?? [])
    .filter((setting) => origin === '' || originOf(setting) === origin)
    .filter(({ name, description }) => {
      const text = `${name} ${name.replaceAll('_', ' ')} ${description} ${groupOf(name)}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
  const sections = groupTitles
    .map((title) => ({ title, settings: shown.filter(({ name }) => groupOf(name) === title) }))
    .filter(({ settings }) => settings.length > 0)
  return (
    <Page
      title="Settings"
      description="The environment variables that this process started with. To change one, edit the environment and restart. Secrets are never shown."
    >
      <SystemLinks />
      <FilterBar label="Filter settings" filters={filters} />
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          <p role="status" className="sr-only">
            {shown.length} settings
          </p>
          {sections.length === 0 && <Empty title="No setting matches these filters" />}
          {sections.map(({ title, settings }) => (
            <Section key={title} flush>
              <details open={isFiltered || title === groupTitles[0]}>
                <summary className="min-h-9 cursor-pointer px-4 py-3 font-semibold">
                  {title} <span className="font-normal text-soft">({settings.length})</span>
                </summary>
                <ul aria-label={title} className="divide-y divide-line border-t border-line">
                  {settings.map((setting) => (
                    <SettingRow key={setting.name} setting={setting} />
                  ))}
                </ul>
              </details>
            </Section>
          ))}
        </>
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
        <Value name={name} value={value} isHidden={secret && isSet} />
        <p className="text-sm text-soft">{plain(description)}</p>
      </div>
    </li>
  )
}

/** A time is written in words, with the value of the variable on hover. */
function Value({ name, value, isHidden }: { name: string; value: string | null; isHidden: boolean }) {
  if (isHidden) return <p className="text-sm">Set, hidden</p>
  if (value === null || value === '')
    return <p className="text-sm text-soft">{value === null ? 'Not set' : 'Empty'}</p>
  const words = valueInWords(name, value)
  if (words !== undefined)
    return (
      <p title={`${name}=${value}`} className="text-sm break-words">
        {words}
      </p>
    )
  return <p className="font-mono text-sm break-words">{value}</p>
}

/** The Markdown of descriptions without its signs: links become their texts. */
const plain = (text: string): string => text.replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replaceAll('`', '')
