import { useMutation, useQuery } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AnswerOf } from '../api/answers.ts'
import { seldomChanges } from '../api/refresh.ts'
import { fill, words } from '../language/words.ts'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { useConfirm } from '../ui/confirm.tsx'
import { SelectField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatDuration, formatTime } from '../ui/format.ts'
import { writeHeaders } from '../ui/header-lines.ts'
import { JsonView } from '../ui/json.tsx'
import { Menu } from '../ui/menu.tsx'
import { Notice } from '../ui/notices.tsx'
import { Section } from '../ui/page.tsx'
import { toast } from '../ui/toast.tsx'
import { useCalls, useEventTypes, useRefresh } from './calls.ts'
import { CodeField } from './code-field.tsx'
import type { Subscriber } from './types.ts'
import { matchesPattern } from '../../../src/events/type-pattern.ts'

type Tested = AnswerOf<'POST /transformations/test'>

const unchanged = `function handler(webhook) {
  return webhook
}
`

/** The code that changes the requests of an endpoint: it is tested with an event, then saved. */
export default function TransformationEditor({ subscriber }: { subscriber: Subscriber }) {
  const { transformation: texts, ui } = words
  const { id, url, transformation } = subscriber
  const stored = transformation ?? unchanged
  const [edited, setEdited] = useState<string>()
  const code = edited ?? stored
  const calls = useCalls()
  const refresh = useRefresh()
  const confirm = useConfirm()
  const { options, eventOf } = useEventsToTest(subscriber)
  const [chosen, setChosen] = useState<string>()
  const event = chosen ?? options[0]?.value ?? ''
  const save = useMutation({
    mutationFn: (change: string | null) => calls.change(id, { transformation: change }),
    onSuccess: async (_saved, change) => {
      await refresh()
      setEdited(undefined)
      toast(change === null ? texts.removed : ui.saved)
    },
  })
  const test = useMutation({
    mutationFn: (tested: string) => {
      const { method, headers, destination } = subscriber
      const target = destination === null ? { url, method } : {}
      return calls.testTransformation({ code: tested, ...target, headers, ...eventOf(event) })
    },
  })
  const submit = (submitted: FormEvent): void => {
    submitted.preventDefault()
    save.mutate(code)
  }
  const remove = async (): Promise<void> => {
    const question = {
      title: texts.removeTitle,
      consequence: fill(texts.removeConsequence, { url }),
      action: texts.remove,
    }
    if (await confirm(question)) save.mutate(null)
  }
  return (
    <>
      <Section
        title={texts.title}
        description={texts.description}
        actions={<Templates isEdited={code !== unchanged} onChoose={setEdited} />}
      >
        <Form problem={save.error ?? test.error} onSubmit={submit} className="grid gap-4">
          <CodeField
            label={texts.code}
            name="transformation"
            hint={texts.hint}
            line={test.variables === code ? test.data?.error?.line : undefined}
            value={code}
            onChange={setEdited}
          />
          <div className="flex flex-wrap items-end gap-2">
            <div className="min-w-0 flex-1 basis-64 sm:max-w-md">
              <SelectField
                label={texts.event}
                options={options}
                value={event}
                onChange={({ target }) => setChosen(target.value)}
              />
            </div>
            <Button busy={test.isPending} onClick={() => test.mutate(code)}>
              {texts.test}
            </Button>
          </div>
          <div className="flex flex-wrap gap-2">
            <Button type="submit" kind="primary" busy={save.isPending} disabled={code === stored}>
              {ui.save}
            </Button>
            {transformation !== null && (
              <Button kind="danger" disabled={save.isPending} onClick={() => void remove()}>
                {texts.remove}
              </Button>
            )}
          </div>
        </Form>
      </Section>
      {test.data && <Outcome result={test.data} at={test.submittedAt} />}
    </>
  )
}

/** Ready-made code. It replaces the code in the editor, after a question where that would be lost. */
function Templates({ isEdited, onChoose }: { isEdited: boolean; onChoose: (code: string) => void }) {
  const texts = words.transformation
  const calls = useCalls()
  const confirm = useConfirm()
  const { data } = useQuery({
    queryKey: ['transformation-forms'],
    queryFn: ({ signal }) => calls.transformationForms(signal),
    ...seldomChanges,
  })
  if (!data) return null
  const choose = async (code: string): Promise<void> => {
    const question = {
      title: texts.replaceTitle,
      consequence: texts.replaceConsequence,
      action: texts.replace,
    }
    if (!isEdited || (await confirm(question))) onChoose(code)
  }
  return (
    <Menu
      label={texts.templates}
      trigger={texts.templates}
      kind="default"
      items={data.data.map(({ name, title, code }) => ({
        // The others are names of products.
        label: name === 'text' ? texts.plainText : title,
        run: () => void choose(code),
      }))}
    />
  )
}

/** The latest events that were sent to the endpoint, and the samples of the types that it gets. */
function useEventsToTest({ id, eventTypes, operational }: Subscriber) {
  const calls = useCalls()
  const deliveries = useQuery({
    queryKey: ['deliveries', 'to-test', id],
    queryFn: ({ signal }) => calls.deliveries(id, signal),
  })
  const types = useEventTypes()
  const sent = new Map(deliveries.data?.data.toReversed().map((one) => [`event ${one.eventId}`, one]))
  const samples = new Map(
    types.data?.data
      .filter(({ builtIn, samples }) => builtIn === operational && samples.length > 0)
      .filter(({ type }) => eventTypes.some((one) => matchesPattern(one, type)))
      .map((one) => [`sample ${one.type}`, one]),
  )
  const example = { type: 'order.paid', data: { orderId: 'A-1001' } }
  const options = [
    ...[...sent].toReversed().map(([value, { eventType, createdAt }]) => ({
      value,
      label: `${eventType} · ${formatTime(createdAt)}`,
    })),
    ...[...samples].map(([value, { type }]) => ({ value, label: fill(words.ui.sampleOf, { type }) })),
  ]
  return {
    options:
      options.length > 0 ? options : [{ value: '', label: fill(words.ui.sampleOf, { type: example.type }) }],
    eventOf: (value: string) => {
      const eventId = sent.get(value)?.eventId
      if (eventId !== undefined) return { eventId }
      const sample = samples.get(value)
      return { event: sample ? { type: sample.type, data: sample.samples[0] } : example }
    },
  }
}

/** Scrolls to the element around one that appears. */
function showAround(appeared: Element | null): void {
  appeared?.parentElement?.scrollIntoView({ block: 'nearest' })
}

/** The request without and with the transformation. Each new result comes into view. */
function Outcome({ result, at }: { result: Tested; at: number }) {
  const { before, after, canceled, error, durationMs } = result
  const texts = words.transformation
  return (
    <Section>
      <div className="grid gap-6 lg:grid-cols-2">
        <span key={at} ref={showAround} hidden />
        <Side title={texts.before} request={before} />
        {after ? (
          <Side title={texts.after} request={after} took={durationMs} />
        ) : (
          <section aria-label={texts.after} className="min-w-0 max-lg:order-first">
            <h3 className="mb-2 font-semibold">{texts.after}</h3>
            {canceled && <Notice>{texts.canceled}</Notice>}
            {error && (
              <Notice tone="danger">
                {error.line === undefined
                  ? error.message
                  : fill(texts.errorAt, { line: error.line, message: error.message })}
              </Notice>
            )}
          </section>
        )}
      </div>
    </Section>
  )
}

function Side({ title, request, took }: { title: string; request: Tested['before']; took?: number }) {
  const { method, url, headers, body } = request
  return (
    <section aria-label={title} className="min-w-0">
      <h3 className="mb-2 flex items-baseline gap-3 font-semibold">
        {title}
        {took !== undefined && <span className="text-sm font-normal text-soft">{formatDuration(took)}</span>}
      </h3>
      <p className="mb-2 font-mono text-sm break-all">
        {method} {url}
      </p>
      <div className="mb-3">
        <CodeBlock
          label={`${title}: ${words.attempt.requestHeaders}`}
          maxHeight="max-h-56"
          code={writeHeaders(headers)}
        />
      </div>
      <JsonView text={body} label={`${title}: ${words.attempt.requestBody}`} />
    </section>
  )
}
