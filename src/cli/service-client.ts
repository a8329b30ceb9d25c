import { adviceOnAddress, call, textToShow, Unavailable } from './call.ts'
import { CommandFailure, UsageFailure } from './command-failure.ts'
import { readClientSettings } from './settings.ts'

export interface ClientOptions {
  /** The address of the service. Default: that of the settings. */
  url?: string
  /** An API key. Default: ADMIN_API_KEY. */
  key?: string
}

export interface ServiceClient {
  service: string
  hasKey: boolean
  /** Calls the service with the key. @throws Unavailable; CommandFailure for any other answer that is no 2xx */
  request: (path: string, init?: RequestInit) => Promise<Response>
}

/** A client of a service's HTTP interface. */
export function serviceClient(options: ClientOptions): ServiceClient {
  const settings = readClientSettings()
  // It may have a path.
  const service = (options.url ?? settings.service).replace(/\/$/, '')
  const key = options.key ?? settings.adminApiKey
  if (!URL.canParse(service) || !/^https?:$/.test(new URL(service).protocol))
    throw new UsageFailure(`${service} is not a URL such as https://gate.example.com`)
  const advice = options.url === undefined ? adviceOnAddress : undefined
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
    const response = await call(service + path, { ...init, headers, redirect: 'manual' }, advice)
    if (response.ok) return response
    const { status } = response
    const text = await textToShow(response, 500)
    if (status === 401 || status === 403)
      throw new CommandFailure(
        `${service} rejected the API key (${status} ${text}): pass --key with the scope that --help names`,
      )
    const failure = `${service}${path.split('?')[0]} returned HTTP ${status} ${text}`.trimEnd()
    throw status === 429 || status >= 500 ? new Unavailable(failure) : new CommandFailure(failure)
  }
  return { service, hasKey: key !== undefined, request }
}
