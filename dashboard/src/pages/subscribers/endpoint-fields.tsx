import type { ReactNode } from 'react'
import { words } from '../../language/words.ts'
import { CheckField, Section, TextArea, TextField, bindFields } from '../../ui/index.ts'
import { TargetFields } from '../../webhooks/destination-fields.tsx'
import { EventTypesField } from '../../webhooks/event-types-field.tsx'
import {
  CredentialFields,
  FilterFields,
  RequestFields,
  SignatureFields,
} from '../../webhooks/request-fields.tsx'
import type { SettingsForm } from '../../webhooks/settings-form.ts'
import { useDefaultSchedule } from './default-schedule.ts'

interface Part {
  form: SettingsForm
  set: (change: Partial<SettingsForm>) => void
}

/** The settings of an endpoint. Those that a new one rarely needs are folded there. */
export function EndpointFields({
  form,
  set,
  isNew = false,
  hasCustomer,
  customer,
}: Part & { isNew?: boolean; hasCustomer: boolean; customer: ReactNode }) {
  const more = (
    <>
      <HowItIsSent form={form} set={set} />
      {form.destination === '' && (
        <Section
          title="Credentials and certificates"
          description={isNew ? undefined : 'Removed if the scheme, host or port of the URL changes.'}
        >
          <div className="grid max-w-3xl gap-4">
            <CredentialFields form={form} set={set} />
          </div>
        </Section>
      )}
      <Section title="Signing">
        <div className="grid max-w-3xl gap-4">
          <SignatureFields form={form} set={set} />
        </div>
      </Section>
    </>
  )
  return (
    <>
      <WhatItGets {...{ form, set, isNew, hasCustomer, customer }} />
      {isNew ? (
        <details className="mb-5">
          <summary className="mb-3 min-h-6 cursor-pointer font-medium">More settings</summary>
          {more}
        </details>
      ) : (
        more
      )}
    </>
  )
}

function WhatItGets({
  form,
  set,
  isNew,
  hasCustomer,
  customer,
}: Part & { isNew: boolean; hasCustomer: boolean; customer: ReactNode }) {
  const { text, check } = bindFields(form, set)
  return (
    <Section title="Events">
      <div className="grid max-w-3xl gap-4">
        <TargetFields form={form} set={set} isNew={isNew}>
          <TextField
            label="URL"
            type="url"
            required
            autoFocus={isNew}
            placeholder="https://example.com/hooks"
            hint={isNew ? undefined : 'Stored headers are removed if the scheme, host or port changes.'}
            {...text('url')}
          />
        </TargetFields>
        <TextField label="Description" {...text('description')} />
        <EventTypesField chosen={form.eventTypes} onChange={(eventTypes) => set({ eventTypes })} />
        <FilterFields form={form} set={set} />
        {customer}
        <TextField
          label="Your ID (optional)"
          hint="An ID for your programs. Use letters, digits and . _ -"
          maxLength={256}
          {...text('uid')}
        />
        <CheckField
          label="Operational"
          hint="Receives only events about deliveries and endpoints."
          disabled={hasCustomer}
          {...check('operational')}
        />
      </div>
    </Section>
  )
}

function HowItIsSent({ form, set }: Part) {
  const schedule = useDefaultSchedule()
  const { text, check } = bindFields(form, set)
  return (
    <Section title="Delivery" description="Leave a field empty to use the default.">
      <div className="grid max-w-3xl gap-4 sm:grid-cols-2">
        <TextField
          label="Timeout in seconds"
          type="number"
          min="0.1"
          max="300"
          step="any"
          {...text('timeout')}
        />
        <TextField label="Concurrent attempts" type="number" min="1" max="100" {...text('concurrency')} />
        <TextField
          label="Attempts per second"
          type="number"
          min="0.01"
          max="10000"
          step="any"
          {...text('rateLimit')}
        />
        <TextField
          label="Retry schedule"
          hint="Seconds before each attempt, separated by commas. The first attempt is included."
          placeholder={schedule === undefined ? undefined : `Default: ${schedule}`}
          {...text('retrySchedule')}
        />
        {form.destination === '' && <RequestFields form={form} set={set} />}
        <div className="sm:col-span-2">
          <TextArea
            label="Additional headers"
            rows={3}
            hint={words.settings.headersHint}
            {...text('headers')}
          />
        </div>
        <div className="sm:col-span-2">
          <CheckField
            label="In order"
            hint="One delivery at a time, in the order in which events were sent. A failed delivery delays the others."
            {...check('ordered')}
          />
        </div>
      </div>
    </Section>
  )
}
