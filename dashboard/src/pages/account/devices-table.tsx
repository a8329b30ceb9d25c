import type { RowOf } from '../../api/answers.ts'
import { Ago, Badge, DataTable, Empty, Time, type Column, actionColumn } from '../../ui/index.ts'
import { formatExact } from '../../ui/format.ts'
import { browserVersion } from './browser-version.ts'

export type Device = RowOf<'GET /auth/sessions'>

/** A device as people know it: `Firefox on Linux`, or the name of the app. */
export const nameOfDevice = ({ appName, device }: Device): string =>
  appName === null ? device : `${appName} (${device})`

/** Distinguishes sign-ins from devices of one name. */
export const signedInText = ({ createdAt }: Device): string => `signed in ${formatExact(new Date(createdAt))}`

const placeOf = ({ kind, userAgent, address, impersonation }: Device): string => {
  if (impersonation)
    return `${impersonation.by ?? 'An administrator'} is acting for this account: ${impersonation.reason}`
  const version = browserVersion(userAgent)
  return [
    kind === 'app' ? 'App' : version === undefined ? 'Browser' : `Version ${version}`,
    address ?? 'unknown address',
  ].join(', ')
}

/** Browsers and apps in which a user is signed in. */
export function DevicesTable({
  devices,
  loading,
  onEnd,
}: {
  devices: readonly Device[]
  loading: boolean
  onEnd: (device: Device) => void
}) {
  return (
    <DataTable
      label="Devices"
      columns={columnsFor(onEnd)}
      rows={devices}
      rowKey={({ id }) => id}
      loading={loading}
      empty={<Empty title="No device is signed in" />}
    />
  )
}

function columnsFor(onEnd: (device: Device) => void): Column<Device>[] {
  return [
    {
      key: 'device',
      header: 'Device',
      cell: (device) => (
        <span title={device.userAgent ?? undefined}>
          {nameOfDevice(device)} {device.current && <Badge tone="info">this device</Badge>}
          <span
            className={`block text-sm text-soft ${device.impersonation ? 'break-words whitespace-normal' : 'truncate'}`}
          >
            {placeOf(device)}
          </span>
        </span>
      ),
    },
    { key: 'provider', header: 'Provider', width: '8rem', cell: ({ provider }) => provider },
    {
      key: 'since',
      header: 'Signed in',
      width: '11rem',
      cell: ({ createdAt }) => <Time value={createdAt} />,
    },
    {
      key: 'seen',
      header: 'Last seen',
      width: '10.5rem',
      cell: ({ lastSeenAt }) => <Ago value={lastSeenAt} />,
    },
    actionColumn({
      action: 'Sign out',
      nameOf: (device) => `${nameOfDevice(device)}, ${signedInText(device)}`,
      isOffered: ({ current }) => !current,
      onAction: onEnd,
    }),
  ]
}
